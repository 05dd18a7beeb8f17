package gateway

import (
	"regexp"
	"strings"

	"github.com/assaybot/assay/internal/assay"
)

// PricesAsOf says where the built-in prices come from: published list prices
// of that month. Config.Prices overrides them.
const PricesAsOf = "2026-11"

// Price is what a model costs, in USD per million tokens of each class.
type Price struct {
	Input      float64 `json:"input"`
	CacheRead  float64 `json:"cache_read"`
	CacheWrite float64 `json:"cache_write"`
	// CacheHour is for cache entries that stay an hour; 0 means twice
	// Input.
	CacheHour float64 `json:"cache_write_1h,omitempty"`
	Output    float64 `json:"output"`
	// LongFrom is the number of prompt tokens over which a call costs Long
	// instead; 0 for none.
	LongFrom int64  `json:"long_from,omitempty"`
	Long     *Price `json:"long,omitempty"`
}

// list makes a price from the two figures that price lists give: cached
// tokens cost a tenth to read and a quarter more to write.
func list(input, output float64) Price {
	return Price{Input: input, Output: output, CacheRead: input / 10, CacheWrite: input * 1.25, CacheHour: input * 2}
}

// tiered is a price with a dearer one for prompts of over 200,000 tokens.
func tiered(p, dear Price) Price {
	p.LongFrom, p.Long = 200_000, &dear
	return p
}

// builtin finds a model's list price. Names are without dates and suffixes.
func builtin(model string) (Price, bool) {
	switch model {
	case "claude-fable-5", "claude-mythos-5":
		return list(10, 50), true
	case "claude-opus-4-5", "claude-opus-4-6", "claude-opus-4-7", "claude-opus-4-8":
		return list(5, 25), true
	case "claude-opus-4", "claude-opus-4-0", "claude-opus-4-1", "claude-3-opus":
		return list(15, 75), true
	case "claude-sonnet-4", "claude-sonnet-4-0", "claude-sonnet-4-5":
		return tiered(list(3, 15), list(6, 22.5)), true
	case "claude-sonnet-4-6", "claude-3-7-sonnet", "claude-3-5-sonnet":
		return list(3, 15), true
	case "claude-haiku-4-5":
		return list(1, 5), true
	case "claude-3-5-haiku":
		return list(0.8, 4), true
	case "gpt-5", "gpt-5-codex", "gpt-5.1", "gpt-5.1-codex", "gpt-5.1-codex-max":
		return free(1.25, 0.125, 10), true
	case "gpt-5-mini", "gpt-5.1-codex-mini":
		return free(0.25, 0.025, 2), true
	case "gpt-5-nano":
		return free(0.05, 0.005, 0.4), true
	case "gpt-5.2", "gpt-5.2-codex", "gpt-5.3-codex":
		return free(1.75, 0.175, 14), true
	case "gpt-5.4-mini":
		return free(0.75, 0.075, 4.5), true
	case "gpt-4.1":
		return free(2, 0.5, 8), true
	case "gpt-4.1-mini":
		return free(0.4, 0.1, 1.6), true
	case "o3":
		return free(2, 0.5, 8), true
	case "o4-mini":
		return free(1.1, 0.275, 4.4), true
	case "gemini-2.5-pro":
		return tiered(free(1.25, 0.125, 10), free(2.5, 0.25, 15)), true
	case "gemini-2.5-flash":
		return free(0.3, 0.03, 2.5), true
	case "gemini-2.5-flash-lite":
		return free(0.1, 0.01, 0.4), true
	case "gemini-3-pro-preview", "gemini-3.1-pro-preview":
		return tiered(free(2, 0.2, 12), free(4, 0.4, 18)), true
	case "gemini-3-flash-preview":
		return free(0.5, 0.05, 3), true
	}
	return Price{}, false
}

// free is a price with its own figure for cached tokens; writing to the cache
// costs what other input costs.
func free(input, cached, output float64) Price {
	return Price{Input: input, Output: output, CacheRead: cached, CacheWrite: input, CacheHour: input}
}

var suffix = regexp.MustCompile(`(\[1m\]|-latest|[-@]20\d{6}|-20\d\d-\d\d-\d\d|-v\d+(:\d+)?)+$`)

// plainName is a model's name without its maker, date and context suffix.
func plainName(model string) string {
	model = model[strings.LastIndexByte(model, '/')+1:]
	return suffix.ReplaceAllString(model, "")
}

type pricing struct{ over map[string]Price }

// of finds the price of a model, the configured one first.
func (p pricing) of(model string) (Price, bool) {
	for _, name := range []string{model, plainName(model)} {
		if price, ok := p.over[name]; ok {
			return price, true
		}
	}
	return builtin(plainName(model))
}

// cost of one call in USD; hour are those of the written tokens that stay an
// hour.
func (p Price) cost(t assay.Tokens, hour int64) float64 {
	if p.Long != nil && t.Input+t.CacheRead+t.CacheWrite > p.LongFrom {
		return p.Long.cost(t, hour)
	}
	hour = min(hour, t.CacheWrite)
	hourly := p.CacheHour
	if hourly == 0 {
		hourly = 2 * p.Input
	}
	sum := float64(t.Input)*p.Input + float64(t.CacheRead)*p.CacheRead +
		float64(t.CacheWrite-hour)*p.CacheWrite + float64(hour)*hourly + float64(t.Output)*p.Output
	return sum / 1e6
}
