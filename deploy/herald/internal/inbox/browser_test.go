package inbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"herald/shared/testkit/outside"
)

// A mail is shown at its full height, in wide and in narrow windows, and follows a change of the width.
// To keep the screenshots: go test -artifacts -outputdir DIR.
func TestMailIsShownAtItsFullHeight(t *testing.T) {
	t.Parallel()
	in := open(t, t.TempDir())
	server := website(t, in)
	put(t, in, "Content-Type: text/html\n\n<!doctype html><html><body><script>document.title = 1</script>"+
		strings.Repeat("<p>Words that take more lines in a narrow window than they do in a wide one.</p>", 60)+
		"</body></html>")
	ctx := outside.OpenBrowser(t)
	if err := chromedp.Do(ctx, chromedp.Navigate(server.URL+"/mail/latest"),
		chromedp.WaitReady(chromedp.CSS("iframe[style]"))); err != nil {
		t.Fatal(err)
	}
	for _, size := range [][2]int64{{1280, 900}, {360, 740}} {
		if err := chromedp.Do(ctx, chromedp.EmulateViewport(size[0], size[1])); err != nil {
			t.Fatal(err)
		}
		got, err := chromedp.Run(ctx, chromedp.Evaluate[[]int64](measures, chromedp.EvalAwaitPromise))
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != 3 || got[0] != got[1] || got[1] < 2000 || got[2] > size[0] {
			t.Errorf("in a window of %d: the heights of frame and mail, and the width, are %v", size[0], got)
		}
		picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.ArtifactDir(), fmt.Sprint(size[0], ".png"))
		if err := os.WriteFile(file, picture, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// measures waits until the frame was laid out in the window's new width.
const measures = `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => {
	const frame = document.querySelector("iframe"), mail = frame.contentDocument;
	done([frame.clientHeight, mail.documentElement.offsetHeight, document.documentElement.scrollWidth]);
})))`
