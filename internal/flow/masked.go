package flow

import (
	"encoding/json"
	"errors"
	"io"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/redact"
	"github.com/assaybot/assay/internal/run"
)

// masked is a record that masks this machine's secrets in all that it keeps.
// A mask keeps lengths, so that JSON, archives and patches hold their form; a
// patch with a secret in it can't be graded again, which its digest tells.
type masked struct {
	run.Record
	mask *redact.Mask
}

func (m masked) Create(name string) (io.WriteCloser, error) {
	w, err := m.Record.Create(name)
	if err != nil {
		return nil, err
	}
	return maskedFile{WriteCloser: m.mask.Writer(w), file: w}, nil
}

func (m masked) Write(name string, data []byte) error {
	return m.Record.Write(name, m.mask.Bytes(data))
}

func (m masked) Finish(r assay.Result) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	var clean assay.Result
	if err := json.Unmarshal(m.mask.Bytes(data), &clean); err != nil {
		return err
	}
	return m.Record.Finish(clean)
}

// maskedFile closes its mask and the file below.
type maskedFile struct {
	io.WriteCloser
	file io.Closer
}

func (f maskedFile) Close() error { return errors.Join(f.WriteCloser.Close(), f.file.Close()) }
