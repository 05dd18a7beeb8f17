package inbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// What the host may ask of the box.
const (
	opSetup = "setup"
	opPut   = "put"
	opGet   = "get"
	opClear = "clear"
	opRun   = "run"
	opPipe  = "pipe" // standard error of the command that names it
	opKill  = "kill"
)

// connRequest opens a stream from the box: a connection to the model.
const connRequest = "conn"

// request opens a stream of the host.
type request struct {
	Op    string   `json:"op"`
	Dir   string   `json:"dir,omitempty"`
	Own   bool     `json:"own,omitempty"`
	Limit int64    `json:"limit,omitempty"`
	Setup *Setup   `json:"setup,omitempty"`
	Run   *command `json:"run,omitempty"`
}

// Setup is what a box must know before anything else.
type Setup struct {
	// Model is the address where the box listens for calls of the model
	// ("127.0.0.1:4100"), "" for none.
	Model string `json:"model,omitempty"`
	// Own are folders made for the box's user, Keep folders made for root.
	Own  []string `json:"own,omitempty"`
	Keep []string `json:"keep,omitempty"`
	// Home is the user's home folder, also made.
	Home string `json:"home"`
}

type command struct {
	Argv   []string `json:"argv"`
	Dir    string   `json:"dir"`
	Env    []string `json:"env"`
	Stdin  bool     `json:"stdin"`
	Stderr uint32   `json:"stderr"`
}

// reply ends a stream of the host.
type reply struct {
	Error string `json:"error,omitempty"`
	Kind  string `json:"kind,omitempty"`
	Exit  *Exit  `json:"exit,omitempty"`
}

// Exit is how a command ended. CPU and PeakKB cover every process that the
// command started.
type Exit struct {
	Code   int           `json:"code"`
	Signal int           `json:"signal,omitempty"`
	Killed bool          `json:"killed,omitempty"`
	OOM    bool          `json:"oom,omitempty"`
	CPU    time.Duration `json:"cpu"`
	PeakKB int64         `json:"peak_kb"`
	Wall   time.Duration `json:"wall"`
}

// ErrTooLarge is returned by Client.Get when the files are over the limit.
var ErrTooLarge = errors.New("the files are larger than the limit")

const kindTooLarge = "too_large"

func replyOf(err error) reply {
	switch {
	case err == nil:
		return reply{}
	case errors.Is(err, ErrTooLarge):
		return reply{Error: err.Error(), Kind: kindTooLarge}
	}
	return reply{Error: err.Error()}
}

func (r reply) err() error {
	switch {
	case r.Kind == kindTooLarge:
		return ErrTooLarge
	case r.Error != "":
		return errors.New(r.Error)
	}
	return nil
}

func parseReply(data []byte) (reply, error) {
	var r reply
	if err := json.Unmarshal(data, &r); err != nil {
		return r, fmt.Errorf("%w: %w", errFrame, err)
	}
	return r, nil
}

// hostBounds is what the host accepts of a box, boxBounds the other way.
func hostBounds() bounds { return bounds{open: 64, result: 64 << 10} }
func boxBounds() bounds  { return bounds{open: 4 << 20, result: 0} }

// maxConns is how many connections to the model a box may have open.
const maxConns = 64
