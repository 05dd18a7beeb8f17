package github

import (
	"encoding/json"
	"net/http"
	"slices"
	"unicode/utf8"
)

// maxBody is the most characters of a comment's body.
const maxBody = 65536

func (p place) bodyText() (string, bool) {
	var in struct {
		Body string `json:"body"`
	}
	if !p.decode(&in) {
		return "", false
	}
	if in.Body == "" {
		invalid(p.w, "IssueComment", "body", "body cannot be blank")
		return "", false
	}
	if utf8.RuneCountInString(in.Body) > maxBody {
		invalid(p.w, "IssueComment", "body", "body is too long (maximum is 65536 characters)")
		return "", false
	}
	return in.Body, true
}

func (p place) createComment() {
	t, ok := p.thread(int(p.number("number")))
	if !ok {
		notFound(p.w)
		return
	}
	body, ok := p.bodyText()
	if !ok {
		return
	}
	p.nextID++
	now := p.Now().UTC()
	c := &Comment{ID: p.nextID, Author: typed(p.token.Login), Body: body, Created: now, Updated: now}
	t.Comments, t.Updated = append(t.Comments, c), now
	p.w.Header().Set("Location", p.api("/repos/%s/issues/comments/%d", p.FullName(), c.ID))
	write(p.w, http.StatusCreated, p.commentJSON(t, c))
}

func (p place) updateComment() {
	t, c := p.comment(p.number("id"))
	if c == nil {
		notFound(p.w)
		return
	}
	body, ok := p.bodyText()
	if !ok {
		return
	}
	now := p.Now().UTC()
	c.Body, c.Updated, c.Edited, t.Updated = body, now, now, now
	write(p.w, http.StatusOK, p.commentJSON(t, c))
}

func (p place) deleteComment() {
	t, c := p.comment(p.number("id"))
	if c == nil {
		notFound(p.w)
		return
	}
	t.Comments = slices.DeleteFunc(t.Comments, func(o *Comment) bool { return o == c })
	p.w.WriteHeader(http.StatusNoContent)
}

func (p place) addLabels() {
	t, ok := p.thread(int(p.number("number")))
	if !ok {
		notFound(p.w)
		return
	}
	var in struct {
		Labels []string `json:"labels"`
	}
	// Both {"labels": [...]} and a bare list are taken.
	if json.Unmarshal(p.body, &in.Labels) != nil && !p.decode(&in) {
		return
	}
	for _, l := range in.Labels {
		if !slices.Contains(t.Labels, l) {
			t.Labels = append(t.Labels, l)
		}
		if !slices.Contains(p.Labels, l) {
			p.Labels = append(p.Labels, l)
		}
	}
	t.Updated = p.Now().UTC()
	write(p.w, http.StatusOK, p.labels(p.Repo, t.Labels))
}

func (p place) removeLabel() {
	t, ok := p.thread(int(p.number("number")))
	at := -1
	if ok {
		at = slices.Index(t.Labels, p.r.PathValue("label"))
	}
	if at < 0 {
		problem(p.w, http.StatusNotFound, "Label does not exist", "https://docs.github.com/rest")
		return
	}
	t.Labels, t.Updated = slices.Delete(t.Labels, at, at+1), p.Now().UTC()
	write(p.w, http.StatusOK, p.labels(p.Repo, t.Labels))
}

func (p place) createLabel() {
	var in struct {
		Name string `json:"name"`
	}
	if !p.decode(&in) {
		return
	}
	if slices.Contains(p.Labels, in.Name) {
		write(p.w, http.StatusUnprocessableEntity, object{"message": "Validation Failed", "documentation_url": "https://docs.github.com/rest",
			"status": "422", "errors": []object{{"resource": "Label", "code": "already_exists", "field": "name"}}})
		return
	}
	p.Labels = append(p.Labels, in.Name)
	write(p.w, http.StatusCreated, p.label(p.Repo, in.Name))
}
