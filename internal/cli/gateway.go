package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"
)

// GatewayRequest is how `assay gateway` wants its gateway. Upstreams are base
// URLs by API, Headers the names of the headers for the keys by API.
type GatewayRequest struct {
	Listen             string
	Clients            []string
	MaxCostUSD         float64
	Log                string
	Upstreams, Headers map[string]string
	Out                io.Writer
}

// ServeGateway serves until ctx is done, and then prints what was spent.
type ServeGateway func(ctx context.Context, r GatewayRequest) error

type gatewayOptions struct {
	f   *Factory
	req GatewayRequest
}

func newGateway(f *Factory, runF func(context.Context, *gatewayOptions) error) *cobra.Command {
	o := &gatewayOptions{f: f}
	c := &cobra.Command{
		Use:   "gateway",
		Short: "Serve the model gateway alone: keys stay here, clients get tokens, budgets and a log",
		Long: `Serves Anthropic Messages, OpenAI Responses and Chat Completions, and Gemini
on loopback for the APIs that have a key or an upstream. It prints the lines
to set for each client; a client never sees the real key. Ctrl-C ends it with a
summary of calls, tokens and cost. ASSAY_PRICES names a file of own prices.`,
		Example: `  assay gateway --client ann --client bob --max-cost 5 --log calls.jsonl
  assay gateway --upstream openai=http://127.0.0.1:11434   # Ollama, vLLM, LiteLLM
  assay gateway --upstream anthropic=https://proxy.example/bedrock --key-header anthropic=authorization`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runF(c.Context(), o) },
	}
	fl := c.Flags()
	fl.StringVar(&o.req.Listen, "listen", "127.0.0.1:0", "loopback `address` to serve on; port 0 is any free one")
	fl.StringSliceVar(&o.req.Clients, "client", []string{"client"}, "`name` of a client, with a token of its own; may be repeated")
	fl.Float64Var(&o.req.MaxCostUSD, "max-cost", 0, "budget in `USD` of each client at each API (0: none)")
	fl.StringVar(&o.req.Log, "log", "", "append one JSON line per call to this `file`")
	fl.StringToStringVar(&o.req.Upstreams, "upstream", nil, "`API=URL`: the base URL of an API, instead of the provider's own; may be repeated")
	fl.StringToStringVar(&o.req.Headers, "key-header", nil, "`API=HEADER` that the upstream wants its key in (authorization: as a bearer token)")
	return c
}

func gatewayRun(ctx context.Context, o *gatewayOptions) error {
	o.req.Out = o.f.Streams.Out
	// The first Ctrl-C ends it: clients can repeat what was under way.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if o.f.Soft != nil {
		defer context.AfterFunc(o.f.Soft, cancel)()
	}
	return o.f.ServeGateway(ctx, o.req)
}
