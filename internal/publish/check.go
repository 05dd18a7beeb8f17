package publish

import (
	"encoding/json"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/assaybot/assay/internal/plain"
)

// maxAnnotations bounds what one score writes; the rest stands in the text.
const maxAnnotations = 200

// check is the check run of a commit.
func check(c Context, s Score, conclusion, why string) CheckRun {
	k := CheckRun{Name: c.Name, SHA: c.SHA, Conclusion: conclusion, Title: title(s), DetailsURL: c.RunURL}
	k.Summary = compose(MaxField, append(top(c, s, MaxField), text("\nConclusion: "+conclusion+", since "+plain.Inline(why, 2*maxWord)+".\n"))...)
	k.Text = compose(MaxField, details(c, s)...)
	k.Annotations = annotations(s)
	k.ExternalID = externalID(c, k.Annotations)
	return k
}

// title is one line of plain text.
func title(s Score) string {
	t := s.Totals
	switch {
	case t.Trials == 0:
		return "nothing to do"
	case s.Versus != nil:
		return plain.Line(s.Versus.Headline, 200)
	case t.N == 0:
		return plain.Line("no score: "+s.Summary, 200)
	}
	out := fmt.Sprintf("%d/%d resolved (%.1f%%, %.1f–%.1f)", t.Resolved, t.N, 100*t.Rate.Mean, 100*t.Rate.Lo, 100*t.Rate.Hi)
	if t.Missing != "" {
		out += "; " + t.Missing
	}
	return plain.Line(out, 200)
}

// annotations are the faults of task files at their lines. A file outside of
// the repository has no place for one.
func annotations(s Score) []Annotation {
	out := make([]Annotation, 0, min(len(s.Lint), maxAnnotations))
	for _, p := range s.Lint {
		name := strings.ReplaceAll(p.File, `\`, "/")
		if name == "" || path.IsAbs(name) || name != path.Clean(name) || strings.HasPrefix(name, "../") || name == "." {
			continue
		}
		if len(out) == maxAnnotations {
			break
		}
		out = append(out, Annotation{Path: plain.Line(name, 1000), Line: max(p.Line, 1), Level: "warning",
			Title: "Task file", Message: strings.TrimSpace(plain.Text(plain.Line(p.Text, 4000)))})
	}
	return out
}

const idPrefix = "assay:v1:"

// externalID names the score and its annotations, so that a second run knows
// which of them are there already: GitHub only ever adds annotations.
func externalID(c Context, as []Annotation) string {
	list, err := json.Marshal(as)
	if err != nil { // texts and numbers only
		list = nil
	}
	return idPrefix + key(c.Key) + ":" + key(string(list))
}

// summary is the job's summary: the verdict, what got worse, then all tables.
func summary(c Context, s Score, why string) string {
	blocks := append(top(c, s, MaxSummary/4), text("\n"+plain.Inline(capital(why), 2*maxWord)+".\n"))
	blocks = append(blocks, fold(fmt.Sprintf("Faults of files (%d)", len(s.Lint)+len(s.Problems)), block{rows: faults(s), most: 50_000}))
	head := compose(MaxSummary/2, blocks...)
	if s.Full == "" {
		return head + compose(MaxSummary/4, details(c, s)...)
	}
	room := MaxSummary - len(head) - 1
	if len(s.Full) <= room {
		return head + "\n" + s.Full
	}
	more := "\n**Not all fits here.** All tables are in `report.md` of the " + plain.Link("results", c.ArtifactURL) + "; `assay report` prints them, too.\n\n"
	return head + more + plain.Cut(s.Full, room-len(more))
}

// outputs are a step's outputs, in a fixed order.
func outputs(s Score, conclusion string) []Output {
	t := s.Totals
	share := func(x float64) string { return strconv.FormatFloat(x, 'f', 4, 64) }
	verdict, reason := "", ""
	if s.Versus != nil {
		verdict, reason = string(s.Versus.Verdict), s.Versus.Reason
	}
	return []Output{
		{"conclusion", conclusion}, {"verdict", verdict}, {"reason", plain.Line(reason, maxWord)},
		{"complete", strconv.FormatBool(s.Complete)}, {"trials", strconv.Itoa(t.Trials)},
		{"resolved", strconv.Itoa(t.Resolved)}, {"counted", strconv.Itoa(t.N)},
		{"rate", share(t.Rate.Mean)}, {"rate_low", share(t.Rate.Lo)}, {"rate_high", share(t.Rate.Hi)},
		{"cost_usd", strconv.FormatFloat(t.USD, 'f', 6, 64)}, {"cost_known", strconv.FormatBool(t.Priced)},
	}
}

// OutputLines are outputs as GitHub's file of outputs wants them. No value
// can hold a line break, so none can define another output.
func OutputLines(all []Output) string {
	var b strings.Builder
	for _, o := range all {
		b.WriteString(o.Name + "=" + plain.Line(o.Value, 1000) + "\n")
	}
	return b.String()
}

// maxCommands is how many annotations a step's log may make.
const maxCommands = 10

// Commands are annotations as workflow commands, for where a check run may
// not be written. They are to be printed to the log as they are.
func Commands(as []Annotation) string {
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	message := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	var b strings.Builder
	for i, a := range as {
		if i == maxCommands {
			break
		}
		fmt.Fprintf(&b, "::%s file=%s,line=%d,title=%s::%s\n", a.Level, property.Replace(a.Path), a.Line,
			property.Replace(a.Title), message.Replace(a.Message))
	}
	return b.String()
}

// ForLog is a remark as one line of a step's log: it can't be a command.
func ForLog(s string) string {
	lines := strings.Split(strings.TrimRight(plain.Log(s), "\n"), "\n")
	return "assay: " + strings.Join(lines, "\n       ")
}
