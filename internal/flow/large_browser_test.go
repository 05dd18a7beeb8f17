package flow

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// browser starts a real browser, or skips the test where there is none.
func browser(t *testing.T) context.Context {
	t.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			program = p
			break
		}
	}
	if program == "" {
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
		chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(profile),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.WSURLReadTimeout(time.Minute))
	alloc, cancelAlloc := chromedp.NewExecAllocator(t.Context(), opts...)
	ctx, cancel := chromedp.NewContext(alloc, chromedp.WithErrorf(func(string, ...any) {}))
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx)
		cancel()
		cancelAlloc()
		_ = os.RemoveAll(profile)
	})
	return ctx
}

// TestThePageInABrowser looks at what GitHub will show, of a small and of a
// large run, on a desk and on a phone, by day and by night.
func TestThePageInABrowser(t *testing.T) {
	ctx := browser(t)
	dir := t.TempDir()
	asked := 0
	chromedp.ListenTarget(ctx, func(e any) {
		if r, ok := e.(*network.EventRequestWillBeSent); ok && !strings.HasPrefix(r.Request.URL, "file:") {
			asked++
		}
	})
	for name, tasks := range map[string]int{"small": 24, "large": 500} {
		docs, _ := largeDocs(t, tasks)
		file := filepath.Join(dir, name+".html")
		if err := writePage(file, pageOf(docs, PublishRequest{Check: true, Comment: true})); err != nil {
			t.Fatal(err)
		}
		for _, screen := range []struct {
			name, scheme  string
			width, height int64
		}{{"desk", "light", 1280, 900}, {"phone", "dark", 390, 844}} {
			t.Run(name+"-"+screen.name, func(t *testing.T) {
				var wide, open, closed int
				var first string
				var png []byte
				err := chromedp.Run(ctx, network.Enable(), chromedp.EmulateViewport(screen.width, screen.height),
					emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: screen.scheme}}),
					chromedp.Navigate("file://"+file), chromedp.WaitVisible("#conversation"),
					chromedp.Evaluate(`document.documentElement.scrollWidth - innerWidth`, &wide),
					chromedp.Evaluate(`document.querySelectorAll("details[open]").length`, &open),
					chromedp.Evaluate(`document.querySelectorAll("details").length`, &closed),
					chromedp.Evaluate(`document.querySelector(".comment .markdown p").innerText`, &first),
					chromedp.CaptureScreenshot(&png))
				if err != nil {
					t.Fatal(err)
				}
				if out := os.Getenv("ASSAY_SCREENSHOTS"); out != "" {
					if err := os.WriteFile(filepath.Join(out, "github-"+name+"-"+screen.name+".png"), png, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				if wide > 0 || open > 0 || closed < 6 || !strings.Contains(first, "resolved, was") || len(png) < 10_000 {
					t.Errorf("%d pixels too wide, %d of %d details open, first line %q, %d bytes of picture", wide, open, closed, first, len(png))
				}
			})
		}
	}
	if asked > 0 {
		t.Errorf("the page asked the network %d times", asked)
	}
}
