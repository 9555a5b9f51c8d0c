package outside

import (
	"context"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

const browserTimeout = 5 * time.Minute // for tests of many pages on a slow machine

// OpenBrowser starts Chromium and returns the context for chromedp's actions. The browser has no window and an empty
// profile, and it sends no requests to its vendor. If none is installed, the test fails and says what to type.
func OpenBrowser(t testing.TB, options ...chromedp.ExecAllocatorOption) context.Context {
	t.Helper()
	flags := append([]chromedp.ExecAllocatorOption{
		chromedp.ExecPath(findBrowser(t)),
		chromedp.UserDataDir(t.TempDir()),
		chromedp.Headless, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck,
		chromedp.NoSandbox, // the sandbox does not work for root, and the pages are Herald's own
		chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.Flag("disable-extensions", true),
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-sync", true),
		chromedp.Flag("force-color-profile", "srgb"),
		chromedp.Flag("password-store", "basic"),
	}, options...)
	limited, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), browserTimeout)
	allocator, stop := chromedp.NewExecAllocator(limited, flags...)
	ctx, closeTab := chromedp.NewContext(allocator, chromedp.WithLogf(t.Logf))
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Errorf("stop the browser: %v", err)
		}
		closeTab()
		stop()
		cancel()
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start the browser: %v", err)
	}
	return ctx
}

func findBrowser(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("no browser in PATH; on Debian type: apt-get install chromium")
	return ""
}
