// Package atif writes and checks trajectories in the Agent Trajectory
// Interchange Format, version 1.7, the normalised form of what an agent did.
// The writer streams: it keeps one step in memory, never a trajectory, and
// long texts are cut to their beginning and end. It opens no files and reads
// no agent's stream.
package atif
