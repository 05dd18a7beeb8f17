package web

import (
	"bytes"
	"context"
	"fmt"
	"image"
	_ "image/png"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"

	"github.com/assaybot/assay/internal/assay"
	"github.com/assaybot/assay/internal/candidates"
	"github.com/assaybot/assay/internal/flow"
)

// browser starts a real browser, or skips the test where there is none.
func browser(t *testing.T, width, height int64) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		if slices.Contains(strings.Split(os.Getenv("ASSAY_REQUIRE"), ","), "browser") {
			t.Fatal("ASSAY_REQUIRE asks for a browser, and there is no chromium")
		}
		t.Skip("there is no chromium here")
	}
	// Not t.TempDir: helpers of a browser may write for a moment after it ended.
	profile, err := os.MkdirTemp("", "assay-browser-")
	if err != nil {
		t.Fatal(err)
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(profile),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.WindowSize(int(width), int(height)),
		chromedp.WSURLReadTimeout(time.Minute))
	alloc, cancelAlloc := chromedp.NewExecAllocator(t.Context(), opts...)
	// This chromium tells more than the library knows; that is no failure.
	ctx, cancel := chromedp.NewContext(alloc, chromedp.WithErrorf(func(string, ...any) {}))
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx) // waits until the browser is gone, before its folder is
		cancel()
		cancelAlloc()
		_ = os.RemoveAll(profile)
	})
	do(ctx, t, chromedp.EmulateViewport(width, height))
	return ctx
}

func do(ctx context.Context, t *testing.T, actions ...chromedp.Action) {
	t.Helper()
	if err := chromedp.Run(ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

// holds waits for an expression to hold, on whichever page is shown by then.
func holds(expression string) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		for tick := time.NewTicker(4 * time.Millisecond); ; {
			yes := false
			// While a page is on its way there is nothing to ask.
			ask, done := context.WithTimeout(ctx, time.Second)
			_ = chromedp.Evaluate("!!("+expression+")", &yes).Do(ask)
			done()
			if yes {
				return nil
			}
			select {
			case <-ctx.Done():
				tick.Stop()
				var at string
				last, done := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
				defer done()
				_ = chromedp.Evaluate(`location.href + " " + document.querySelector("main")?.innerText.slice(0, 200)`, &at).Do(last)
				return fmt.Errorf("it never came to %s; at %s", expression, at)
			case <-tick.C:
			}
		}
	})
}

// press types keys as a keyboard does: the character belongs to the key that
// goes down, so that a page which takes the key gets no character.
func press(keys string) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		for _, r := range keys {
			events := kb.Encode(r)
			down, up := events[0], events[len(events)-1]
			if len(events) == 3 {
				down.Text, down.UnmodifiedText = events[1].Text, events[1].UnmodifiedText
			}
			if err := down.Do(ctx); err != nil {
				return err
			}
			if err := up.Do(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}

func visibly(selector string) chromedp.Action {
	return holds(fmt.Sprintf("document.querySelector(%q)?.checkVisibility() && document.readyState === 'complete'", selector))
}

func click(selector string) chromedp.Action {
	return chromedp.Evaluate(fmt.Sprintf("document.querySelector(%q).click()", selector), nil)
}

// watch measures, inside the page, from a key to the first frame that shows
// another candidate.
const watch = `(() => {
  const shown = () => document.querySelector("#page main")?.dataset.id ?? (document.querySelector("#page main") ? "done" : "");
  let at = 0, from = "";
  window.times = [];
  addEventListener("keydown", (e) => { if (/^[as1-90]$/.test(e.key)) { at = performance.now(); from = shown(); } }, true);
  addEventListener("DOMContentLoaded", () => new MutationObserver(() => {
    if (!at || shown() === from || !shown()) return;
    const t = at; at = 0;
    requestAnimationFrame(() => setTimeout(() => window.times.push(performance.now() - t)));
  }).observe(document.body, { childList: true, subtree: true }));
})()`

func shot(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	var png []byte
	do(ctx, t, chromedp.CaptureScreenshot(&png))
	if dir := os.Getenv("ASSAY_SCREENSHOTS"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	img, _, err := image.Decode(bytes.NewReader(png))
	if err != nil {
		t.Fatal(err)
	}
	colours := map[[4]uint32]int{}
	for y := 0; y < img.Bounds().Dy(); y += 3 {
		for x := 0; x < img.Bounds().Dx(); x += 3 {
			r, g, b, a := img.At(x, y).RGBA()
			colours[[4]uint32{r, g, b, a}]++
		}
	}
	if len(colours) < 20 {
		t.Errorf("screenshot %s has %d colours: it shows nothing", name, len(colours))
	}
}

func TestHundredCandidatesByKeyboardAlone(t *testing.T) {
	desk, path := sampleDesk(t, 100)
	srv := httptest.NewServer(Handler(desk, testToken))
	defer srv.Close()
	ctx := browser(t, 1440, 900)
	do(ctx, t, chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := cdppage.AddScriptToEvaluateOnNewDocument(watch).Do(ctx)
		return err
	}), chromedp.Navigate(srv.URL+"/?token="+testToken), visibly("main[data-id]"))
	shot(ctx, t, "desktop-first")

	var want []assay.Review
	for i := range 100 {
		var id string
		do(ctx, t, chromedp.Evaluate(`document.querySelector("main").dataset.id`, &id))
		keys, r := plan(i, desk.Reasons())
		r.Candidate = id
		want = append(want, r)
		for _, k := range keys {
			do(ctx, t, press(k))
		}
		do(ctx, t, holds(fmt.Sprintf(`window.times.length > %d`, i)))
		if i == 40 {
			shot(ctx, t, "desktop-middle")
		}
	}
	do(ctx, t, holds(`document.querySelector("[data-count=skipped]").textContent === "20"`))
	do(ctx, t, holds(`document.querySelector("h1").textContent === "All decided"`))
	shot(ctx, t, "desktop-done")

	var times []float64
	do(ctx, t, chromedp.Evaluate(`window.times`, &times))
	slices.Sort(times)
	t.Logf("%d decisions; key press to the next candidate: median %.1f ms, most %.1f ms", len(times), times[len(times)/2], times[len(times)-1])
	if median := times[len(times)/2]; median >= 1000 {
		t.Errorf("the median from a key press to the next candidate is %.0f ms; under a second is promised", median)
	}
	compare(t, path, want)
}

// plan is what the reviewer presses on the i-th candidate, and what must be
// recorded for it.
func plan(i int, reasons []flow.ReviewReason) ([]string, assay.Review) {
	switch i % 5 {
	case 1, 3:
		n := i % 10
		return []string{"r", fmt.Sprint((n + 1) % 10)}, assay.Review{Decision: assay.Reject, Reason: reasons[n].Name}
	case 2:
		return []string{"s"}, assay.Review{Decision: assay.Skip}
	}
	return []string{"a"}, assay.Review{Decision: assay.Accept}
}

// compare holds the log on disk, read anew, against the keys.
func compare(t *testing.T, path string, want []assay.Review) {
	t.Helper()
	log, err := candidates.At(path).Reviews()
	if err != nil {
		t.Fatal(err)
	}
	for i := range log {
		if log[i].Who != "ann@example.com" || log[i].When.IsZero() || log[i].Digest == "" {
			t.Errorf("review %d lacks who, when or digest: %+v", i, log[i])
		}
		log[i].Who, log[i].When, log[i].Digest = "", time.Time{}, ""
	}
	if d := cmp.Diff(want, log); d != "" {
		t.Errorf("the log isn't what the keys said (-keys +log):\n%s", d)
	}
}

func TestBrowserUndoSearchAndForeignText(t *testing.T) {
	t.Parallel()
	desk, path := sampleDesk(t, 6)
	var outside []string
	srv := httptest.NewServer(Handler(desk, testToken))
	defer srv.Close()
	ctx := browser(t, 1440, 900)
	chromedp.ListenTarget(ctx, func(ev any) {
		if e, ok := ev.(*network.EventRequestWillBeSent); ok && !strings.HasPrefix(e.Request.URL, srv.URL) {
			outside = append(outside, e.Request.URL)
		}
		if _, ok := ev.(*cdppage.EventJavascriptDialogOpening); ok {
			outside = append(outside, "a dialog of a candidate's script")
		}
	})
	count := func(name, n string) chromedp.Action {
		return holds(fmt.Sprintf(`document.querySelector("[data-count=%s]").textContent === %q`, name, n))
	}
	shows := func(id string) chromedp.Action {
		return holds(fmt.Sprintf(`document.querySelector("main")?.dataset.id === %q`, id))
	}
	do(ctx, t, network.Enable(), chromedp.Navigate(srv.URL+"/?token="+testToken), visibly("main[data-id]"), shows("pull-1"),
		press("n"), press("asr"), press(kb.Escape), // a note takes keys as text
		press("a"), count("accepted", "1"), shows("pull-2"),
		press("u"), count("accepted", "0"), shows("pull-1"),
		press("j"), shows("pull-2"), press("k"), shows("pull-1"),
		press("r"), press(kb.Escape), press("s"), count("skipped", "1"), shows("pull-2"),
		press("d"), holds(`getComputedStyle(document.querySelector(".diff")).display === "none"`),
		press("?"), visibly("#help[open]"))
	shot(ctx, t, "help")
	do(ctx, t, press("a"), press(kb.Escape), // keys mean nothing behind the help
		press("d"), press("/"), press("#1005"), press(kb.Enter), visibly(`main[data-id="pull-5"]`),
		press("l"), visibly(".rows"))
	shot(ctx, t, "list")
	if len(outside) > 0 {
		t.Errorf("the page asked for %q", outside)
	}
	compare(t, path, []assay.Review{
		{Candidate: "pull-1", Decision: assay.Accept, Note: "asr"},
		{Candidate: "pull-1", Decision: assay.Undo},
		{Candidate: "pull-1", Decision: assay.Skip},
	})
}

func TestBrowserTellsWhatIsNotSaved(t *testing.T) {
	t.Parallel()
	desk, path := sampleDesk(t, 4)
	gate := &gate{next: Handler(desk, testToken)}
	srv := httptest.NewServer(gate)
	defer srv.Close()
	ctx := browser(t, 1440, 900)
	alarmed := func(text string) chromedp.Action {
		return holds(fmt.Sprintf(`!document.querySelector("#alarm").hidden && document.querySelector("#alarm").textContent.includes(%q)`, text))
	}
	do(ctx, t, chromedp.Navigate(srv.URL+"/?token="+testToken), visibly("main[data-id]"))
	gate.shut.Store(true)
	do(ctx, t, press("a"), alarmed("Not saved yet"), press("a"))
	shot(ctx, t, "alarm")
	gate.shut.Store(false)
	do(ctx, t, holds(`document.querySelector("#alarm").hidden && document.querySelector("[data-count=accepted]").textContent === "1"`),
		// Keys mean nothing while the next page is on its way.
		holds(`document.querySelector("main")?.dataset.id === "pull-2"`))

	changeDigest(t, path, "pull-2")
	do(ctx, t, press("a"), alarmed("mined again"))
	compare(t, path, []assay.Review{{Candidate: "pull-1", Decision: assay.Accept}})
}

func TestBrowserPhoneAndDark(t *testing.T) {
	t.Parallel()
	desk, _ := sampleDesk(t, 3)
	srv := httptest.NewServer(Handler(desk, testToken))
	defer srv.Close()
	ctx := browser(t, 390, 844)
	do(ctx, t, chromedp.Navigate(srv.URL+"/?token="+testToken), visibly("main[data-id]"))
	shot(ctx, t, "phone")
	var wide bool
	do(ctx, t, chromedp.Evaluate(`document.documentElement.scrollWidth > innerWidth`, &wide))
	if wide {
		t.Error("the page is wider than a phone")
	}
	do(ctx, t, click(".reasons summary"), visibly(".menu"))
	shot(ctx, t, "phone-reasons")
	do(ctx, t, emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}),
		chromedp.EmulateViewport(1440, 900))
	shot(ctx, t, "dark")
}

// Without JavaScript the plain forms do everything.
func TestBrowserWithoutJavaScript(t *testing.T) {
	t.Parallel()
	desk, path := sampleDesk(t, 3)
	srv := httptest.NewServer(Handler(desk, testToken))
	defer srv.Close()
	ctx := browser(t, 1024, 768)
	do(ctx, t, network.Enable(), network.SetBlockedURLs([]string{"*app.js*"}), chromedp.Navigate(srv.URL+"/?token="+testToken),
		visibly(`main[data-id="pull-1"]`),
		click(`button[value=accept]`), visibly(`main[data-id="pull-2"]`),
		click(`.reasons summary`), click(`button[value=too_easy]`), visibly(`main[data-id="pull-3"]`),
		click(`#undo button`), visibly(`main[data-id="pull-2"]`))
	shot(ctx, t, "without-js")
	compare(t, path, []assay.Review{
		{Candidate: "pull-1", Decision: assay.Accept},
		{Candidate: "pull-2", Decision: assay.Reject, Reason: "too_easy"},
		{Candidate: "pull-2", Decision: assay.Undo},
	})
}
