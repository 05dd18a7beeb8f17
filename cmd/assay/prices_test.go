package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPricesOfAFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "prices.json")
	t.Setenv("ASSAY_PRICES", name)
	for _, tt := range []struct{ text, fault string }{
		{`{"my-model": {"input": 1, "cache_read": 0.5, "cache_write": 1, "output": 2}}`, ""},
		{`{"my-model": {"input": 1, "ouput": 2}}`, "output"},
		{`[]`, "prices.json"},
	} {
		if err := os.WriteFile(name, []byte(tt.text), 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := prices()
		switch {
		case tt.fault == "" && (err != nil || got["my-model"].Output != 2):
			t.Errorf("%v %v", got, err)
		case tt.fault != "" && (err == nil || !strings.Contains(err.Error(), tt.fault)):
			t.Errorf("%s: %v", tt.text, err)
		}
	}
	t.Setenv("ASSAY_PRICES", name+".none")
	if _, err := prices(); err == nil {
		t.Error("a missing file is no fault")
	}
}
