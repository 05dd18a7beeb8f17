package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/assaybot/assay/internal/stat"
)

// memory is a target in memory. before is called before each operation; what
// it returns is the operation's error. After names operations that take effect
// and then are uncertain, once each.
type memory struct {
	mu       sync.Mutex
	pull     Pull
	checks   []CheckRun
	comments []Comment
	hidden   map[int64]int
	heads    map[Head]int
	next     int64
	writes   []string
	deny     map[string]bool
	after    map[string]int
	before   func(op string)
}

func newMemory() *memory {
	return &memory{pull: Pull{Head: sha, Open: true}, hidden: map[int64]int{}, deny: map[string]bool{}, after: map[string]int{}, next: 100}
}

func (m *memory) op(name string, do func()) error {
	if m.before != nil {
		m.before(name)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.deny[name] {
		return &Denied{errors.New("the token lacks a permission; add to the workflow's job:\n  permissions:\n    " + name)}
	}
	do()
	if !slices.Contains([]string{"pull", "checks", "comments"}, name) {
		m.writes = append(m.writes, name)
	}
	if m.after[name] > 0 {
		m.after[name]--
		return fmt.Errorf("502: %w", ErrUncertain)
	}
	return nil
}

func (m *memory) Pull(context.Context, int) (p Pull, err error) {
	return m.pull, m.op("pull", func() {})
}

func (m *memory) PullOf(_ context.Context, h Head) (n int, err error) {
	return m.heads[h], m.op("pull", func() {})
}

func (m *memory) Checks(_ context.Context, sha, name string) (out []CheckRun, err error) {
	err = m.op("checks", func() {
		for _, k := range m.checks {
			if k.SHA == sha && k.Name == name {
				out = append(out, k)
			}
		}
	})
	return out, err
}

func (m *memory) CreateCheck(_ context.Context, k CheckRun) (CheckRun, error) {
	err := m.op("create check", func() {
		m.next++
		k.ID, k.URL, k.Annotated = m.next, fmt.Sprint("check/", m.next), len(k.Annotations)
		m.checks = append(m.checks, k)
	})
	return k, err
}

func (m *memory) UpdateCheck(_ context.Context, k CheckRun) (CheckRun, error) {
	err := m.op("update check", func() {
		for i := range m.checks {
			if m.checks[i].ID == k.ID {
				k.URL, k.Annotated = m.checks[i].URL, m.checks[i].Annotated+len(k.Annotations)
				m.checks[i] = k
			}
		}
	})
	return k, err
}

func (m *memory) Comments(context.Context, int) (out []Comment, err error) {
	err = m.op("comments", func() { out = slices.Clone(m.comments) })
	return out, err
}

func (m *memory) CreateComment(_ context.Context, _ int, body string) (c Comment, err error) {
	err = m.op("create comment", func() {
		m.next++
		c = Comment{ID: m.next, Node: fmt.Sprint("n", m.next), Body: body, URL: fmt.Sprint("comment/", m.next), Mine: true}
		m.comments = append(m.comments, c)
	})
	return c, err
}

func (m *memory) UpdateComment(_ context.Context, id int64, body string) error {
	return m.op("update comment", func() {
		for i := range m.comments {
			if m.comments[i].ID == id {
				m.comments[i].Body = body
			}
		}
	})
}

func (m *memory) Minimise(_ context.Context, c Comment) error {
	return m.op("minimise", func() { m.hidden[c.ID]++ })
}

func (m *memory) add(mine bool, body string) int64 {
	m.next++
	m.comments = append(m.comments, Comment{ID: m.next, Body: body, Mine: mine})
	return m.next
}

// shown are our comments with a mark that stands, and that isn't hidden.
func (m *memory) shown() (out []Comment) {
	for _, c := range m.comments {
		if mark, ok := ParseMark(c.Body); ok && c.Mine && m.hidden[c.ID] == 0 && mark.State != Old {
			out = append(out, c)
		}
	}
	return out
}

func both() Wants { return Wants{Check: true, Comment: true} }

func docs(c Context) Docs { return Make(c, compared(stat.Worse), Gate{}) }

func post(t *testing.T, m *memory, d Docs, w Wants) Posted {
	t.Helper()
	p, err := Post(context.Background(), m, d, w)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestRow8ASecondRunEdits(t *testing.T) {
	m := newMemory()
	first := post(t, m, docs(where()), both())
	again := post(t, m, docs(where()), both())
	if first.CommentURL == "" || first.CommentURL != again.CommentURL || first.CheckURL != again.CheckURL {
		t.Errorf("%+v, then %+v", first, again)
	}
	// A new head: the comment is edited, its commit gets its own check run.
	c := where()
	c.SHA = strings.Repeat("a", 40)
	m.pull.Head = c.SHA
	third := post(t, m, docs(c), both())
	if third.CommentURL != first.CommentURL || third.CheckURL == first.CheckURL || len(m.shown()) != 1 {
		t.Errorf("%+v", third)
	}
	if mark, _ := ParseMark(m.shown()[0].Body); mark.SHA != c.SHA {
		t.Errorf("the mark is of %s", mark.SHA)
	}
	want := []string{"create check", "create comment", "update check", "create check", "update comment"}
	if !slices.Equal(m.writes, want) {
		t.Errorf("writes %q, want %q: what is there already isn't written again", m.writes, want)
	}
}

func TestRow2And7OnlyOurOwnMarkCounts(t *testing.T) {
	m := newMemory()
	d := docs(where())
	other := where()
	other.Key = "another suite"
	body := marked("older", d.Context.mark(Final))
	spoof := m.add(false, body)
	quoted := m.add(true, body+"\nquoted")
	foreign := m.add(true, marked("x", other.mark(Final)))
	first := m.add(true, body)
	second := m.add(true, body)
	third := m.add(true, strings.Replace(body, "older", "newest", 1))
	post(t, m, d, both())
	post(t, m, d, both())
	for id, hidden := range map[int64]int{spoof: 0, quoted: 0, foreign: 0, first: 1, second: 1, third: 0} {
		if m.hidden[id] != hidden {
			t.Errorf("comment %d was hidden %d times, want %d", id, m.hidden[id], hidden)
		}
	}
	for _, c := range m.comments {
		if (c.ID == spoof || c.ID == quoted || c.ID == foreign) && strings.Contains(c.Body, "Worse") {
			t.Errorf("comment %d was overwritten", c.ID)
		}
		if c.ID == third && !strings.Contains(c.Body, "Worse") {
			t.Errorf("the newest is %q", c.Body)
		}
	}
}

func TestRow1TwoJobsLeaveOneComment(t *testing.T) {
	m := newMemory()
	// Both have listed the comments before either creates one.
	var listed sync.WaitGroup
	listed.Add(2)
	once := map[string]int{}
	var mu sync.Mutex
	m.before = func(op string) {
		if op != "create comment" {
			return
		}
		mu.Lock()
		once[op]++
		n := once[op]
		mu.Unlock()
		if n <= 2 {
			listed.Done()
			listed.Wait()
		}
	}
	var jobs sync.WaitGroup
	for _, state := range []string{Running, Final} {
		jobs.Go(func() {
			if _, err := Post(context.Background(), m, docs(where()), Wants{Comment: true, State: state}); err != nil {
				t.Error(err)
			}
		})
	}
	jobs.Wait()
	shown := m.shown()
	if len(shown) != 1 {
		t.Fatalf("%d comments stand", len(shown))
	}
	if mark, _ := ParseMark(shown[0].Body); mark.State != Final {
		t.Errorf("the placeholder won: %v", mark)
	}
}

func TestRow17AWriteThatLandedIsNotDoubled(t *testing.T) {
	m := newMemory()
	m.after = map[string]int{"create comment": 1, "update comment": 1}
	p := post(t, m, docs(where()), Wants{Comment: true})
	if len(m.comments) != 1 || p.CommentURL == "" {
		t.Errorf("%d comments, %+v", len(m.comments), p)
	}
	m.after["create comment"] = 0
	m.comments[0].Body = marked("other", where().mark(Final))
	post(t, m, docs(where()), Wants{Comment: true})
	if len(m.comments) != 1 || !strings.Contains(m.comments[0].Body, "Worse") {
		t.Errorf("%+v", m.comments)
	}
}

func TestAWriteThatNeverLandsEnds(t *testing.T) {
	m := newMemory()
	m.after["update comment"] = 99
	m.add(true, marked("other", where().mark(Final)))
	if _, err := Post(context.Background(), m, docs(where()), Wants{Comment: true}); !errors.Is(err, ErrUncertain) {
		t.Errorf("got %v", err)
	}
}

func TestRow10AForkDegrades(t *testing.T) {
	m := newMemory()
	m.deny = map[string]bool{"create check": true, "create comment": true}
	p := post(t, m, docs(where()), both())
	if !p.Refused || len(p.Notes) != 2 || !strings.Contains(p.Notes[1], "the comment was not written") || len(m.writes) > 0 {
		t.Errorf("%+v", p)
	}
	// One of both may be allowed.
	m.deny = map[string]bool{"create check": true}
	if p = post(t, m, docs(where()), both()); !p.Refused || p.CommentURL == "" || len(p.Notes) != 1 {
		t.Errorf("%+v", p)
	}
}

func TestRow49APushHasNoComment(t *testing.T) {
	m, c := newMemory(), where()
	c.Number = 0
	if p := post(t, m, docs(c), both()); p.Refused || p.CheckURL == "" || len(p.Notes) != 1 || len(m.comments) > 0 {
		t.Errorf("%+v", p)
	}
}

func TestRow14TheRunOfAForkFindsItsPullRequest(t *testing.T) {
	m, c := newMemory(), where()
	m.heads = map[Head]int{{Repo: "ann/shop", Branch: "topic", SHA: sha}: 7}
	c.Number, c.Head = 0, Head{Repo: "ann/shop", Branch: "topic", SHA: sha}
	if p := post(t, m, docs(c), both()); p.CommentURL == "" || len(p.Notes) > 0 {
		t.Errorf("%+v", p)
	}
	// Another fork has a branch of that name, too; the commit moved on.
	for _, h := range []Head{{Repo: "bob/shop", Branch: "topic", SHA: sha}, {Repo: "ann/shop", Branch: "topic", SHA: strings.Repeat("b", 40)}} {
		c.Head = h
		if p := post(t, m, docs(c), both()); p.CommentURL != "" || p.CheckURL == "" || !strings.Contains(p.Notes[0], "no pull request") {
			t.Errorf("%+v", p)
		}
	}
	if len(m.comments) != 1 {
		t.Errorf("%d comments", len(m.comments))
	}
}

func TestRow43ClosedPullRequestsAreLeftAlone(t *testing.T) {
	m := newMemory()
	m.pull.Open = false
	if p := post(t, m, docs(where()), both()); len(m.comments) > 0 || !strings.Contains(p.Notes[0], "closed") {
		t.Errorf("%+v", p)
	}
	if p := post(t, m, docs(where()), Wants{Comment: true, Closed: true}); p.CommentURL == "" {
		t.Errorf("%+v", p)
	}
}

func TestRow26AnOldScoreIsNotCurrent(t *testing.T) {
	m := newMemory()
	m.pull.Head = strings.Repeat("b", 40)
	post(t, m, docs(where()), Wants{Comment: true})
	if !strings.Contains(m.comments[0].Body, "has moved on to `bbbbbbb…`") {
		t.Error(m.comments[0].Body)
	}
	// The newer head's score stands against a late older one.
	c := where()
	c.SHA = m.pull.Head
	post(t, m, docs(c), Wants{Comment: true})
	p := post(t, m, docs(where()), Wants{Comment: true})
	if mark, _ := ParseMark(m.comments[0].Body); mark.SHA != c.SHA || len(m.comments) != 1 || len(p.Notes) != 1 {
		t.Errorf("%v %+v", mark, p)
	}
	if strings.Contains(m.comments[0].Body, "moved on") {
		t.Error("the current score says that it is old")
	}
}

func TestAnnotationsAreWrittenOnce(t *testing.T) {
	m := newMemory()
	d := Make(where(), huge(), Gate{})
	post(t, m, d, Wants{Check: true})
	post(t, m, d, Wants{Check: true})
	if len(m.checks) != 1 || m.checks[0].Annotated != maxAnnotations {
		t.Fatalf("%d checks, %d annotations", len(m.checks), m.checks[0].Annotated)
	}
	// A run that was stopped halfway goes on where it was.
	m.checks[0].Annotated = 50
	post(t, m, d, Wants{Check: true})
	if m.checks[0].Annotated != maxAnnotations {
		t.Errorf("%d annotations", m.checks[0].Annotated)
	}
	// Other annotations can't take their place: a new check run does.
	post(t, m, docs(where()), Wants{Check: true})
	if len(m.checks) != 2 {
		t.Errorf("%d checks", len(m.checks))
	}
	// Somebody else's of the same name is left alone.
	m.checks = []CheckRun{{ID: 1, Name: "assay", SHA: sha, ExternalID: "theirs"}}
	post(t, m, docs(where()), Wants{Check: true})
	if len(m.checks) != 2 || m.checks[0].ExternalID != "theirs" {
		t.Errorf("%+v", m.checks)
	}
}
