// Package browser starts Chromium for tests of pages. It has no window, an empty profile for each test, and sends no
// requests to its vendor.
package browser

import (
	"context"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

const limit = 5 * time.Minute // for tests of many pages on a slow machine

// Open starts a browser and returns the context for chromedp's actions. If no browser is installed, it fails the test
// and says what to type.
func Open(t testing.TB, options ...chromedp.ExecAllocatorOption) context.Context {
	t.Helper()
	flags := append([]chromedp.ExecAllocatorOption{
		chromedp.ExecPath(find(t)),
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
	limited, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), limit)
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

func find(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("no browser in PATH; on Debian type: apt-get install chromium")
	return ""
}
