// Package agent knows the agent programs: how each is started for a trial and
// how its stream is read. oracle and nop are reference agents that start
// nothing; command is any program of the user's; claude-code,
// codex, gemini, opencode and mini-swe-agent are the programs of these names.
//
// Agents are pure: they return commands and parsers, and execute nothing.
// They read no environment and hold no key of a model API; what a program may
// know is in the Launch. The one thing here that touches the machine is
// EnsureKit, which fetches a program's kit and is called by the wiring.
package agent
