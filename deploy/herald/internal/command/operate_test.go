package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The administrator's token is where the settings of `herald run` or of the service users say.
func TestAdminPAT(t *testing.T) { //nolint:paralleltest // it sets variables
	data, other := t.TempDir(), filepath.Join(t.TempDir(), "token")
	t.Setenv("HERALD_DATA_DIR", data)
	if _, err := execute(t, "", "admin-pat"); err == nil || !strings.Contains(err.Error(), "HERALD_DATA_DIR") {
		t.Errorf("without a file: %v", err)
	}
	for file, text := range map[string]string{
		filepath.Join(data, "admin.pat"): "of the run\n", other: "of the service\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := execute(t, "", "admin-pat"); err != nil || got != "of the run\n" {
		t.Errorf("%q, %v", got, err)
	}
	t.Setenv("HERALD_ADMIN_PAT_FILE", other)
	if got, err := execute(t, "", "admin-pat"); err != nil || got != "of the service\n" {
		t.Errorf("%q, %v", got, err)
	}
}
