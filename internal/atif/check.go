package atif

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/assaybot/assay/internal/assay"
)

// Check reads a trajectory and tells every breach of the format that it
// finds: unknown fields, steps that aren't numbered from 1, unknown sources,
// a model's fields on steps that no model made, results that answer no call
// of their step. It keeps one step in memory.
func Check(r io.Reader) error {
	c := &checker{dec: json.NewDecoder(r)}
	if err := c.object(c.member); err != nil {
		return fmt.Errorf("reading a trajectory: %w", err)
	}
	if _, err := c.dec.Token(); !errors.Is(err, io.EOF) {
		c.fault("text after the trajectory")
	}
	c.whole()
	return errors.Join(c.faults...)
}

type checker struct {
	dec    *json.Decoder
	schema string
	agent  assay.ATIFAgent
	final  *assay.FinalMetrics
	steps  int
	faults []error
}

// maxFaults bounds the list; a file that is no trajectory has many.
const maxFaults = 50

func (c *checker) fault(format string, args ...any) {
	if len(c.faults) < maxFaults {
		c.faults = append(c.faults, fmt.Errorf(format, args...))
	}
}

// object reads an object and hands the decoder to f at each value.
func (c *checker) object(f func(key string) error) error {
	if err := c.delim('{'); err != nil {
		return err
	}
	for c.dec.More() {
		t, err := c.dec.Token()
		if err != nil {
			return err
		}
		if err := f(fmt.Sprint(t)); err != nil {
			return fmt.Errorf("%v: %w", t, err)
		}
	}
	return c.delim('}')
}

func (c *checker) delim(want json.Delim) error {
	t, err := c.dec.Token()
	if err != nil {
		return err
	}
	if t != want {
		return fmt.Errorf("%v where %v was expected", t, want)
	}
	return nil
}

func (c *checker) member(key string) error {
	switch key {
	case "schema_version":
		return c.dec.Decode(&c.schema)
	case "agent":
		return c.dec.Decode(&c.agent)
	case "final_metrics":
		return c.dec.Decode(&c.final)
	case "steps":
		return c.list()
	case "session_id", "trajectory_id", "notes", "continued_trajectory_ref", "extra", "subagent_trajectories":
	default:
		c.fault("unknown field %q", key)
	}
	var skip json.RawMessage
	return c.dec.Decode(&skip)
}

func (c *checker) list() error {
	if err := c.delim('['); err != nil {
		return err
	}
	for c.dec.More() {
		var raw json.RawMessage
		if err := c.dec.Decode(&raw); err != nil {
			return err
		}
		c.steps++
		c.step(raw)
	}
	return c.delim(']')
}

func (c *checker) step(raw []byte) {
	var s assay.Step
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		c.fault("step %d: %w", c.steps, err)
		return
	}
	if s.ID != c.steps {
		c.fault("step %d has the number %d", c.steps, s.ID)
	}
	switch s.Source {
	case "agent":
	case "system", "user":
		if s.Model != "" || s.Effort != "" || s.Reasoning != "" || s.Metrics != nil || len(s.ToolCalls) > 0 {
			c.fault("step %d is from %s and has fields of a model's reply", c.steps, s.Source)
		}
	default:
		c.fault("step %d has the source %q", c.steps, s.Source)
	}
	c.results(s)
}

func (c *checker) results(s assay.Step) {
	calls := map[string]bool{}
	for _, t := range s.ToolCalls {
		if t.ID == "" || t.Name == "" || calls[t.ID] {
			c.fault("step %d has a tool call without a name or a number of its own", c.steps)
		}
		if _, ok := t.Arguments.(map[string]any); !ok {
			c.fault("step %d: the arguments of %s are no object", c.steps, t.Name)
		}
		calls[t.ID] = true
	}
	if s.Observation == nil {
		return
	}
	for _, r := range s.Observation.Results {
		if r.SourceCall != "" && !calls[r.SourceCall] {
			c.fault("step %d: a result answers %q, which is no call of the step", c.steps, r.SourceCall)
		}
	}
}

func (c *checker) whole() {
	if c.schema != assay.TrajectorySchema {
		c.fault("schema_version is %q, not %q", c.schema, assay.TrajectorySchema)
	}
	if c.agent.Name == "" || c.agent.Version == "" {
		c.fault("agent needs a name and a version")
	}
	if c.steps == 0 {
		c.fault("there are no steps")
	}
	if c.final != nil && c.final.Steps != c.steps {
		c.fault("final_metrics counts %d steps, there are %d", c.final.Steps, c.steps)
	}
}
