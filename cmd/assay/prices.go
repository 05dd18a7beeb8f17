package main

import (
	"os"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/gateway"
	"github.com/assaybot/assay/internal/schema"
)

// prices are those of the file that ASSAY_PRICES names: by model, in USD per
// million tokens of each class. They win over the built-in table.
func prices() (map[string]gateway.Price, error) {
	name := os.Getenv("ASSAY_PRICES")
	if name == "" {
		return nil, nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, assay.Userf("reading the prices that ASSAY_PRICES names: %v", err)
	}
	out := map[string]gateway.Price{}
	if ps := schema.DecodeJSON(name, data, &out); len(ps) > 0 {
		return nil, ps.Err()
	}
	return out, nil
}
