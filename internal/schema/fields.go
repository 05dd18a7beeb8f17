package schema

import (
	"encoding"
	"reflect"
	"strings"
	"time"

	"github.com/assaybot/assay/internal/assay"
)

// field is one JSON field of a struct, with those of embedded structs
// flattened in; an outer field hides an embedded one of the same name.
type field struct {
	name     string
	index    []int
	typ      reflect.Type
	required bool
}

// fieldsOf lists the fields of t in the order of declaration. A field
// without omitempty or omitzero is required, unless it is a struct that
// requires nothing itself: an absent "limits" and an empty one are the same.
func fieldsOf(t reflect.Type) []field {
	all := reflect.VisibleFields(t)
	out := make([]field, 0, len(all))
	at := map[string]int{}
	for _, f := range all {
		if !f.IsExported() || f.Anonymous {
			continue
		}
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		next := field{name: name, index: f.Index, typ: f.Type,
			required: !strings.Contains(opts, "omit") && !optionalStruct(f.Type)}
		if i, ok := at[name]; ok {
			if len(f.Index) < len(out[i].index) {
				out[i] = next
			}
			continue
		}
		at[name] = len(out)
		out = append(out, next)
	}
	return out
}

func optionalStruct(t reflect.Type) bool {
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[time.Time]() {
		return false
	}
	for _, f := range fieldsOf(t) {
		if f.required {
			return false
		}
	}
	return true
}

func names(fs []field) []string {
	out := make([]string, len(fs))
	for i, f := range fs {
		out[i] = f.name
	}
	return out
}

// schemaNumber is the number that a file of type t states in "schema", 0 if
// such files state none.
func schemaNumber(t reflect.Type) int {
	switch t {
	case reflect.TypeFor[assay.Task]():
		return assay.TaskSchema
	case reflect.TypeFor[assay.Variant]():
		return assay.VariantSchema
	case reflect.TypeFor[assay.Result]():
		return assay.ResultSchema
	case reflect.TypeFor[assay.Request]():
		return assay.RunSchema
	case reflect.TypeFor[assay.Candidate]():
		return assay.CandidateSchema
	}
	if t.Kind() != reflect.Struct {
		return 0
	}
	for i := range t.NumField() {
		if f := t.Field(i); f.Anonymous {
			if n := schemaNumber(f.Type); n != 0 {
				return n
			}
		}
	}
	return 0
}

// wordsOf lists the values that a named text type of the nouns allows, nil
// for a type without a closed list.
func wordsOf(t reflect.Type) []string {
	switch t {
	case reflect.TypeFor[assay.TaskKind]():
		return plain(assay.KindCorrectness, assay.KindPerformance)
	case reflect.TypeFor[assay.Scope]():
		return plain(assay.ScopeOwn, assay.ScopeAll)
	case reflect.TypeFor[assay.Preflight]():
		return plain(assay.PreflightNever, assay.PreflightAuto, assay.PreflightAlways)
	case reflect.TypeFor[assay.CheckKind]():
		return plain(assay.CheckKinds()...)
	case reflect.TypeFor[assay.Outcome]():
		return plain(assay.Outcomes()...)
	case reflect.TypeFor[assay.LimitKind]():
		return plain(assay.LimitTime, assay.LimitTurns, assay.LimitCost, assay.LimitContext)
	case reflect.TypeFor[assay.InfraKind]():
		return plain(assay.InfraAPI, assay.InfraSandbox, assay.InfraGrader, assay.InfraDisk, assay.InfraNetwork)
	case reflect.TypeFor[assay.CheckStatus]():
		return plain(assay.CheckPassed, assay.CheckFailed, assay.CheckIntegrity, assay.CheckBroken)
	case reflect.TypeFor[assay.TestStatus]():
		return plain(assay.TestPassed, assay.TestFailed, assay.TestError, assay.TestSkipped,
			assay.TestXFail, assay.TestXPass, assay.TestMissing, assay.TestNotRun)
	case reflect.TypeFor[assay.CandidateStatus]():
		return plain(assay.StatusMined, assay.StatusJudged, assay.StatusReviewed, assay.StatusBuilt,
			assay.StatusValid, assay.StatusRejected, assay.StatusQuarantined)
	case reflect.TypeFor[assay.FileClass]():
		return plain(assay.ClassSource, assay.ClassTest, assay.ClassDocs, assay.ClassConfig,
			assay.ClassGenerated, assay.ClassInline)
	case reflect.TypeFor[assay.ModeName]():
		return plain(assay.ModeTampered, assay.ModeSearched, assay.ModeRefused, assay.ModeRanOut,
			assay.ModeNothing, assay.ModeGaveUp, assay.ModeLooped, assay.ModeUntested,
			assay.ModeRegression, assay.ModeWrongFile, assay.ModeScope, assay.ModeRequirement)
	case reflect.TypeFor[assay.Decision]():
		return plain(assay.Accept, assay.Reject, assay.Skip, assay.Undo)
	}
	return nil
}

func plain[S ~string](words ...S) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = string(w)
	}
	return out
}

// fromText tells whether a value of t can be written as a text, and objectToo
// whether as an object as well.
func fromText(t reflect.Type) (ok, objectToo bool) {
	if !reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return false, false
	}
	return true, t.Kind() == reflect.Struct && len(fieldsOf(t)) > 0
}
