package outside

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

const browserTimeout = 5 * time.Minute // for tests of many pages on a slow machine

// shared is a browser for the tests that need one with the same flags at the same time. A start takes almost a second
// of CPU time.
type shared struct {
	sync.Mutex
	ctx   context.Context
	stop  func() error
	users int
}

// browsers are those of the process, by their flags.
var browsers = sync.OnceValue(func() *sync.Map { return &sync.Map{} })

// OpenBrowser opens a window of Chromium and returns the context for chromedp's actions. The window is not shown, its
// profile is empty, and nothing in it has to do with the windows of other tests. The browser sends no requests to its
// vendor. Flags are of its command line, such as "accept-lang=en". If no browser is installed, the test fails and says
// what to type.
func OpenBrowser(t testing.TB, flags ...string) context.Context {
	t.Helper()
	found, _ := browsers().LoadOrStore(strings.Join(flags, " "), &shared{})
	b := found.(*shared)
	b.Lock()
	defer b.Unlock()
	if b.users == 0 {
		if err := b.start(findBrowser(t), flags); err != nil {
			t.Fatalf("start the browser: %v", err)
		}
	}
	b.users++
	limited, cancel := context.WithTimeout(b.ctx, browserTimeout)
	ctx, closeWindow := chromedp.NewContext(limited, chromedp.WithNewBrowserContext())
	t.Cleanup(func() {
		closeWindow()
		cancel()
		b.Lock()
		defer b.Unlock()
		if b.users--; b.users > 0 {
			return
		}
		if err := b.stop(); err != nil {
			t.Errorf("stop the browser: %v", err)
		}
	})
	// As in the only window of a person; otherwise one of several has the focus.
	if _, err := chromedp.Call(ctx, emulation.SetFocusEmulationEnabled,
		emulation.SetFocusEmulationEnabledParams{Enabled: true}); err != nil {
		t.Fatalf("open a window: %v", err)
	}
	return ctx
}

func (b *shared) start(path string, flags []string) error {
	profile, err := os.MkdirTemp("", "herald-browser-")
	if err != nil {
		return err
	}
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path),
		chromedp.UserDataDir(profile),
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
	}
	for _, flag := range flags {
		name, value, _ := strings.Cut(flag, "=")
		options = append(options, chromedp.Flag(name, value))
	}
	allocator, release := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, closeBrowser := chromedp.NewContext(allocator)
	b.ctx, b.stop = ctx, func() error {
		err := chromedp.Cancel(ctx)
		closeBrowser()
		release()
		return errors.Join(err, os.RemoveAll(profile))
	}
	if err := chromedp.Do(ctx); err != nil {
		return errors.Join(err, b.stop())
	}
	return nil
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
