package projects_test

import (
	"testing"

	"herald/services/projects/internal/testworld"
	"herald/shared/boot"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

// The operator's quotas reach the database.
func TestQuotasOfTheOperator(t *testing.T) {
	t.Parallel()
	g := testkit.Ground(t)
	testkit.Serve(t, g, "users", &testworld.Users{}, &usersv1.Internal_ServiceDesc)
	w := testworld.NewWith(t, g, boot.QuotaSettings{Quotas: "projects=1"})
	w.Must(w.CreateProject(w.InA, &projectsv1.CreateProjectRequest{Name: "first"}))
	_, err := w.CreateProject(w.InA, &projectsv1.CreateProjectRequest{Name: "second"})
	testkit.Refused(t, err, "QUOTA_EXCEEDED")
}
