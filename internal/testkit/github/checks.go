package github

import (
	"fmt"
	"net/http"
	"slices"
	"time"
)

// The limits of a check run: bytes of a text, annotations of one request.
const (
	maxText        = 65535
	maxAnnotations = 50
	maxMessage     = 64 << 10
)

// checkIn is what a create or an update may hold. Nil is not said.
type checkIn struct {
	Name        *string    `json:"name"`
	SHA         string     `json:"head_sha"`
	Status      *string    `json:"status"`
	Conclusion  *string    `json:"conclusion"`
	ExternalID  *string    `json:"external_id"`
	DetailsURL  *string    `json:"details_url"`
	StartedAt   *time.Time `json:"started_at"`
	CompletedAt *time.Time `json:"completed_at"`
	Output      *struct {
		Title       *string      `json:"title"`
		Summary     *string      `json:"summary"`
		Text        *string      `json:"text"`
		Annotations []Annotation `json:"annotations"`
	} `json:"output"`
}

// fault is what GitHub would refuse; "" is nothing.
func (in checkIn) fault() (field, message string) {
	if in.Conclusion != nil && *in.Conclusion == "stale" {
		return "conclusion", "stale is reserved"
	}
	if in.Status != nil && !slices.Contains([]string{"queued", "in_progress", "completed"}, *in.Status) {
		return "status", "is not included in the list"
	}
	if in.Status != nil && *in.Status == "completed" && in.Conclusion == nil {
		return "conclusion", "is required when status is completed"
	}
	if in.Output == nil {
		return "", ""
	}
	for field, text := range map[string]*string{"summary": in.Output.Summary, "text": in.Output.Text} {
		if text != nil && len(*text) > maxText {
			return field, "exceeds a maximum bytesize of 65535"
		}
	}
	if len(in.Output.Annotations) > maxAnnotations {
		return "annotations", "exceeds a maximum quantity of 50"
	}
	for _, a := range in.Output.Annotations {
		if m := a.fault(); m != "" {
			return "annotations", m
		}
	}
	return "", ""
}

func (a Annotation) fault() string {
	switch {
	case a.StartLine < 1 || a.EndLine < a.StartLine:
		return "line numbers start at 1 and end_line is not before start_line"
	case a.StartLine != a.EndLine && (a.StartColumn != nil || a.EndColumn != nil):
		return "columns need start_line and end_line to be the same"
	case len(a.Message) > maxMessage || len(a.RawDetails) > maxMessage:
		return "message exceeds a maximum bytesize of 64 KB"
	case len([]rune(a.Title)) > 255:
		return "title is too long (maximum is 255 characters)"
	case !slices.Contains([]string{"notice", "warning", "failure"}, a.Level):
		return "annotation_level is not included in the list"
	}
	return ""
}

// apply changes a check run; annotations are appended.
func (in checkIn) apply(c *CheckRun, now time.Time) {
	set(&c.Name, in.Name)
	set(&c.ExternalID, in.ExternalID)
	set(&c.DetailsURL, in.DetailsURL)
	set(&c.Status, in.Status)
	set(&c.Started, in.StartedAt)
	set(&c.Completed, in.CompletedAt)
	if in.Conclusion != nil {
		c.Conclusion, c.Status = *in.Conclusion, "completed"
		if c.Completed.IsZero() {
			c.Completed = now
		}
	}
	if in.Output != nil {
		set(&c.Title, in.Output.Title)
		set(&c.Summary, in.Output.Summary)
		set(&c.Text, in.Output.Text)
		c.Annotations = append(c.Annotations, in.Output.Annotations...)
	}
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

func (p place) createCheck() {
	var in checkIn
	if !p.decode(&in) {
		return
	}
	if in.Name == nil || *in.Name == "" || in.SHA == "" {
		invalid(p.w, "CheckRun", "name", "name and head_sha are required")
		return
	}
	if field, message := in.fault(); message != "" {
		invalid(p.w, "CheckRun", field, message)
		return
	}
	p.nextID++
	c := &CheckRun{ID: p.nextID, SHA: in.SHA, Status: "queued", Started: p.Now().UTC(), App: p.token.Login}
	in.apply(c, p.Now().UTC())
	p.Checks = append(p.Checks, c)
	write(p.w, http.StatusCreated, p.checkRun(c))
}

func (p place) updateCheck() {
	c := p.check(p.number("id"))
	if c == nil {
		notFound(p.w)
		return
	}
	var in checkIn
	if !p.decode(&in) {
		return
	}
	if field, message := in.fault(); message != "" {
		invalid(p.w, "CheckRun", field, message)
		return
	}
	in.apply(c, p.Now().UTC())
	write(p.w, http.StatusOK, p.checkRun(c))
}

func (p place) getCheck() {
	if c := p.check(p.number("id")); c != nil {
		write(p.w, http.StatusOK, p.checkRun(c))
		return
	}
	notFound(p.w)
}

// listChecks answers with the newest first; by default only the newest of
// each name.
func (p place) listChecks() {
	q, ref := p.r.URL.Query(), p.r.PathValue("ref")
	if commit, ok := p.Heads[ref]; ok {
		ref = commit
	}
	out := make([]*CheckRun, 0, len(p.Checks))
	seen := map[string]bool{}
	for _, c := range slices.Backward(p.Checks) {
		if c.SHA != ref || q.Get("check_name") != "" && q.Get("check_name") != c.Name {
			continue
		}
		if or(q.Get("filter"), "latest") == "latest" && seen[c.Name] {
			continue
		}
		seen[c.Name] = true
		out = append(out, c)
	}
	write(p.w, http.StatusOK, object{"total_count": len(out), "check_runs": each(page(p, out), p.checkRun)})
}

func (p place) listAnnotations() {
	c := p.check(p.number("id"))
	if c == nil {
		notFound(p.w)
		return
	}
	write(p.w, http.StatusOK, each(page(p, c.Annotations), func(a Annotation) object {
		return object{"path": a.Path, "blob_href": p.URL, "start_line": a.StartLine, "end_line": a.EndLine, "start_column": a.StartColumn,
			"end_column": a.EndColumn, "annotation_level": a.Level, "title": a.Title, "message": a.Message, "raw_details": a.RawDetails}
	}))
}

func (p place) checkRun(c *CheckRun) object {
	u := p.api("/repos/%s/check-runs/%d", p.FullName(), c.ID)
	out := object{
		"id": c.ID, "node_id": fmt.Sprintf("CR_%d", c.ID), "head_sha": c.SHA, "name": c.Name, "url": u,
		"html_url": fmt.Sprintf("%s/%s/runs/%d", p.URL, p.FullName(), c.ID), "details_url": or(c.DetailsURL, p.URL),
		"status": c.Status, "conclusion": nil, "started_at": stamp(c.Started), "completed_at": stamp(c.Completed),
		"external_id": c.ExternalID, "check_suite": object{"id": 1}, "app": p.app(), "pull_requests": []object{},
		"output": object{"title": text(c.Title), "summary": text(c.Summary), "text": text(c.Text),
			"annotations_count": len(c.Annotations), "annotations_url": u + "/annotations"},
	}
	if c.Conclusion != "" {
		out["conclusion"] = c.Conclusion
	}
	return out
}

// text is a string of the wire, where an empty one is null.
func text(s string) any {
	if s == "" {
		return nil
	}
	return s
}
