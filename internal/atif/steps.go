package atif

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/assaybot/assay/internal/assay"
)

// EachStep reads a trajectory and hands on its steps, one at a time, keeping
// one in memory. Steps of subagents are not among them. A trajectory that
// breaks off has handed on what came before.
func EachStep(r io.Reader, yield func(assay.Step)) error {
	c := &checker{dec: json.NewDecoder(r)}
	err := c.object(func(key string) error {
		if key != "steps" {
			var skip json.RawMessage
			return c.dec.Decode(&skip)
		}
		if err := c.delim('['); err != nil {
			return err
		}
		for c.dec.More() {
			var s assay.Step
			if err := c.dec.Decode(&s); err != nil {
				return err
			}
			yield(s)
		}
		return c.delim(']')
	})
	if err != nil {
		return fmt.Errorf("reading a trajectory: %w", err)
	}
	return nil
}
