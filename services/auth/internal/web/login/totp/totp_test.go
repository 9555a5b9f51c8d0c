package totp_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"html"
	"image"
	_ "image/png"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/qrcode"
	"google.golang.org/grpc"

	"herald/services/auth/internal/web/frame"
	"herald/services/auth/internal/web/login/totp"
	"herald/shared/fault"
	textv1 "herald/shared/gen/herald/text/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
)

const (
	path = "/ui/login/enrol"
	key  = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
	link = "otpauth://totp/Herald:ada%3Cb%3E?algorithm=SHA1&digits=6&issuer=Herald&period=30&secret=" + key
)

// users stands in for the service users. Its answers depend on the code, or are the fault.
type users struct {
	usersv1.FactorsClient
	state usersv1.AuthFactorState
	fault error
	calls int
}

var faults = map[string]error{
	"111111": fault.New(fault.Invalid, "CODE_WRONG", "wrong"),
	"222222": fault.New(fault.Exhausted, "OTP_LOCKED", "locked").After(time.Minute),
	"333333": fault.New(fault.Precondition, "OTP_ALREADY_VERIFIED", "verified"),
	"444444": fault.New(fault.NotFound, "OTP_NOT_FOUND", "removed"),
	"555555": fault.ErrInternal,
}

func (u *users) SearchMyAuthFactors(
	context.Context, *usersv1.SearchMyAuthFactorsRequest, ...grpc.CallOption,
) (*usersv1.SearchAuthFactorsResponse, error) {
	return &usersv1.SearchAuthFactorsResponse{Result: []*usersv1.AuthFactor{{State: u.state}}}, u.fault
}

func (u *users) AddMyOtp(
	_ context.Context, r *usersv1.AddMyOtpRequest, _ ...grpc.CallOption,
) (*usersv1.AddMyOtpResponse, error) {
	u.calls++
	if !r.Replace {
		return nil, fault.New(fault.Exists, "OTP_NOT_VERIFIED", "there is one")
	}
	return &usersv1.AddMyOtpResponse{Url: link, Secret: key}, u.fault
}

func (u *users) VerifyMyOtp(
	_ context.Context, r *usersv1.VerifyMyOtpRequest, _ ...grpc.CallOption,
) (*usersv1.VerifyMyOtpResponse, error) {
	u.calls++
	codes := make([]string, 10)
	for n := range codes {
		codes[n] = fmt.Sprint("CODE-", n)
	}
	return &usersv1.VerifyMyOtpResponse{RecoveryCodes: codes}, faults[r.Code]
}

type text struct{ textv1.TextClient }

func (text) ResolveLanguages(
	context.Context, *textv1.ResolveLanguagesRequest, ...grpc.CallOption,
) (*textv1.ResolveLanguagesResponse, error) {
	return &textv1.ResolveLanguagesResponse{DefaultLanguage: "en", AllowedLanguages: []string{"en", "de"}}, nil
}

// serve passes a person's request to the pages: a GET, or a POST of a form.
func serve(t *testing.T, u *users, form url.Values) *httptest.ResponseRecorder {
	t.Helper()
	l, err := frame.New(text{}, time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	place := totp.Place{Path: path, Next: "/next", Method: "get", Fields: []totp.Field{{"request", `"r`}}}
	pages, w := totp.Pages{Factors: u, Frame: l}, httptest.NewRecorder()
	if form == nil {
		pages.Show(w, httptest.NewRequestWithContext(t.Context(), "GET", path, http.NoBody), place)
		return w
	}
	r := httptest.NewRequestWithContext(t.Context(), "POST", path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	pages.Take(w, r, place)
	return w
}

func shows(t *testing.T, w *httptest.ResponseRecorder, status int, title string) {
	t.Helper()
	if w.Code != status || !strings.Contains(w.Body.String(), "<h1>"+title+"</h1>") {
		t.Errorf("%d, want %d %q: %s", w.Code, status, title, w.Body)
	}
	if strings.Contains(w.Body.String(), `value=""r"`) || strings.Contains(w.Body.String(), "ZgotmplZ") {
		t.Errorf("the page is not escaped well: %s", w.Body)
	}
}

// read decodes the QR code of a page with an independent reader.
func read(t *testing.T, page string) string {
	t.Helper()
	found := regexp.MustCompile(`src="data:image/png;base64,([^"]+)"`).FindStringSubmatch(page)
	if found == nil {
		t.Fatalf("there is no image: %s", page)
	}
	data, err := base64.StdEncoding.DecodeString(html.UnescapeString(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	shown, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	bitmap, err := gozxing.NewBinaryBitmapFromImage(shown)
	if err != nil {
		t.Fatal(err)
	}
	got, err := qrcode.NewQRCodeReader().Decode(bitmap, nil)
	if err != nil {
		t.Fatal(err)
	}
	return got.GetText()
}

// A person begins, scans the code, mistypes the app's code and then enters the right one.
func TestPeopleSetUpAnAuthenticatorApp(t *testing.T) {
	t.Parallel()
	u := &users{state: usersv1.AuthFactorState_AUTH_FACTOR_STATE_NOT_READY}
	shows(t, serve(t, u, nil), 200, "Protect your account")
	if u.calls != 0 {
		t.Error("opening the page changes something")
	}
	scan := serve(t, u, url.Values{})
	shows(t, scan, 200, "Scan this code")
	wrong := serve(t, u, url.Values{"url": {link}, "code": {"111111"}})
	shows(t, wrong, 400, "Scan this code")
	for name, page := range map[string]string{"first": scan.Body.String(), "second": wrong.Body.String()} {
		if got := read(t, page); got != link {
			t.Errorf("the QR code of the %s page is %q", name, got)
		}
		if !strings.Contains(page, "JBSW Y3DP EHPK 3PXP JBSW Y3DP EHPK 3PXP") ||
			!strings.Contains(page, `href="otpauth://totp/`) {
			t.Errorf("the %s page has no key to type: %s", name, page)
		}
		if strings.Contains(page, "This code is wrong") != (name == "second") {
			t.Errorf("the %s page is wrong: %s", name, page)
		}
	}
	recovery := serve(t, u, url.Values{"url": {link}, "code": {"123456"}})
	shows(t, recovery, 200, "Keep these recovery codes")
	if strings.Count(recovery.Body.String(), "<code>CODE-") != 10 {
		t.Errorf("the recovery codes are not there: %s", recovery.Body)
	}
}

// Each fault has a page that says what to do.
func TestRefusedAuthenticatorAppHasAPage(t *testing.T) {
	t.Parallel()
	u := &users{state: usersv1.AuthFactorState_AUTH_FACTOR_STATE_READY}
	shows(t, serve(t, u, nil), 200, "Your account is already protected")
	u.fault = fault.New(fault.Exists, "OTP_ALREADY_READY", "there is one")
	if w := serve(t, u, url.Values{}); w.Code != http.StatusSeeOther || w.Header().Get("Location") != path {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	u.fault = fault.ErrUnavailable
	shows(t, serve(t, u, nil), 503, "One moment, please")
	shows(t, serve(t, u, url.Values{}), 503, "One moment, please")
	u.fault = nil
	for _, code := range []string{"333333", "444444"} {
		w := serve(t, u, url.Values{"url": {link}, "code": {code}})
		if w.Code != http.StatusSeeOther || w.Header().Get("Location") != path {
			t.Errorf("%s: %d %v", code, w.Code, w.Header())
		}
	}
	shows(t, serve(t, u, url.Values{"url": {link}, "code": {"222222"}}), 429, "Please wait a little")
	shows(t, serve(t, u, url.Values{"url": {link}, "code": {"555555"}}), 500, "Something went wrong")
	asked := u.calls
	for _, code := range []string{"", " ", "\x00", "a\r\nb", strings.Repeat("1", 65)} {
		shows(t, serve(t, u, url.Values{"url": {link}, "code": {code}}), 400, "Scan this code")
	}
	for _, forged := range []string{
		"javascript:alert(1)", "https://evil.example/?secret=" + key, "otpauth://hotp/a?secret=" + key,
		"otpauth://totp/a", "otpauth://totp/a?secret=<script>", "otpauth://totp/a?secret=" + strings.Repeat("A", 65),
		link + strings.Repeat("a", 9000), link + "\x00", "%", link + "\n",
	} {
		shows(t, serve(t, u, url.Values{"url": {forged}, "code": {"123456"}}), 400, "This link is incomplete")
	}
	if u.calls != asked {
		t.Error("users was asked about what nobody has typed")
	}
	long := strings.Replace(link, "Herald:ada", strings.Repeat("ä", 1200), 1)
	if w := serve(t, u, url.Values{"url": {long}, "code": {"111111"}}); strings.Contains(w.Body.String(), "<img") ||
		!strings.Contains(w.Body.String(), "JBSW Y3DP") {
		t.Errorf("%s", w.Body)
	}
}
