package run

import (
	"context"
	"errors"
	"io"
	"path"
	"strings"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/tree"
)

// Bounds of the transcripts that are kept of a program.
const (
	maxTranscriptsMB = 64
	maxTranscripts   = 200
)

// keepTranscripts copies the transcripts that the program wrote itself below
// the box's home, those of its subagents included, to the attempt's folder
// "agent". Their tokens are in the gateway's account already. What the
// program could have written into them is no fact, and what can't be read is
// left out: neither changes an attempt.
func (a *attempt) keepTranscripts(ctx context.Context, box Box, places []string) error {
	kept := 0
	for _, place := range places {
		files, _, err := fetch(ctx, box, path.Join(HomeDir, place), maxTranscriptsMB)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			continue
		}
		for _, name := range files.Paths() {
			if kept == maxTranscripts || !transcript(name) || files[name].Mode == tree.Link {
				continue
			}
			kept++
			if err := a.keepOne(path.Join(AgentFolder, place, name), files[name].Data); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *attempt) keepOne(name string, data []byte) error {
	w, err := a.rec.Create(name)
	if err != nil {
		return assay.Infra(assay.InfraDisk, "making "+name, err)
	}
	_, err = io.Copy(w, strings.NewReader(string(data)))
	return assay.Infra(assay.InfraDisk, "keeping a transcript", errors.Join(err, w.Close()))
}

// transcript tells whether a file is one by its name, which the program, and
// so perhaps the model, chose.
func transcript(name string) bool {
	if len(name) > 300 {
		return false
	}
	for _, r := range name {
		plain := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./", r)
		if !plain {
			return false
		}
	}
	return strings.HasSuffix(name, ".jsonl") || strings.HasSuffix(name, ".json")
}
