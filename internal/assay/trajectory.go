package assay

// Trajectory is what trajectory.json holds: ATIF 1.7, the normalised form of
// an agent's stream. The raw stream is kept beside it.
type Trajectory struct {
	SchemaVersion string        `json:"schema_version"`
	SessionID     string        `json:"session_id,omitempty"`
	Agent         ATIFAgent     `json:"agent"`
	Steps         []Step        `json:"steps"`
	FinalMetrics  *FinalMetrics `json:"final_metrics,omitempty"`
	Notes         string        `json:"notes,omitempty"`
	Subagents     []Trajectory  `json:"subagent_trajectories,omitempty"`
	Extra         any           `json:"extra,omitempty"`
}

// ATIFAgent names the program of a trajectory.
type ATIFAgent struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Model   string `json:"model_name,omitempty"`
}

// Step is one entry of a trajectory. ID counts from 1; Source is system,
// user or agent. Fields of a model's turn stand on agent steps only.
type Step struct {
	ID          int          `json:"step_id"`
	Timestamp   string       `json:"timestamp,omitempty"`
	Source      string       `json:"source"`
	Model       string       `json:"model_name,omitempty"`
	Effort      string       `json:"reasoning_effort,omitempty"`
	Message     string       `json:"message"`
	Reasoning   string       `json:"reasoning_content,omitempty"`
	ToolCalls   []ToolCall   `json:"tool_calls,omitempty"`
	Observation *Observation `json:"observation,omitempty"`
	Metrics     *StepMetrics `json:"metrics,omitempty"`
	Extra       any          `json:"extra,omitempty"`
}

// ToolCall is one call of a tool; Arguments is a JSON object.
type ToolCall struct {
	ID        string `json:"tool_call_id"`
	Name      string `json:"function_name"`
	Arguments any    `json:"arguments"`
}

// Observation holds the results of a step's tool calls.
type Observation struct {
	Results []ToolResult `json:"results"`
}

// ToolResult answers the call of the same step with the ID SourceCall.
type ToolResult struct {
	SourceCall string `json:"source_call_id,omitempty"`
	Content    string `json:"content"`
	Extra      any    `json:"extra,omitempty"`
}

// StepMetrics are the figures of one model reply; prompt tokens include
// cached ones.
type StepMetrics struct {
	Prompt     int64   `json:"prompt_tokens"`
	Completion int64   `json:"completion_tokens"`
	Cached     int64   `json:"cached_tokens"`
	CostUSD    float64 `json:"cost_usd,omitempty"`
}

// FinalMetrics are the figures of the whole trajectory.
type FinalMetrics struct {
	Prompt     int64   `json:"total_prompt_tokens"`
	Completion int64   `json:"total_completion_tokens"`
	Cached     int64   `json:"total_cached_tokens"`
	CostUSD    float64 `json:"total_cost_usd"`
	Steps      int     `json:"total_steps"`
}
