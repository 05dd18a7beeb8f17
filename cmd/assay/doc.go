/*
A tour of the rooms, beside main since this is where they are wired together.

A command line comes in at internal/cli, which turns flags into an
assay.Request and calls one use case of internal/flow. For 'assay run' that is:

  - suite and config read tasks, variants and the run file, strictly;
  - plan multiplies them into trials, each with an ID made of all its inputs;
  - ledger opens the results folder for this process alone and says what is
    done already;
  - run takes the rest trial by trial: it opens a box of a sandbox (docker or
    local), starts the agent in it (agent says how), carries its calls to the
    model (gateway), watches three clocks, and takes what is left as a tree;
  - patch turns the difference to the base into patch.diff and back;
  - grade decides, in a fresh box and from files alone, whether every hidden
    check passed;
  - report makes tables of what the ledger holds, and of nothing else.

This package makes the edges and hands them to flow. It is the only place that
reads the environment.
*/
package main
