package domain

// TestStep is a step of the test of a provider.
type TestStep int32

// The steps of a test, numbered as in the contract.
const (
	TestMetadata TestStep = iota + 1
	TestKeys
	TestClient
	TestLogin
)

// Finding is what a step of the test of a provider found.
type Finding struct {
	Step TestStep
	// Failed reports that the step went wrong for another reason than a setting.
	Failed bool
	// Message says what was found, for people.
	Message string
	// Settings are the settings of which one is wrong, by their names in the contract's JSON.
	Settings []string
}

// OK reports whether the step went well.
func (f Finding) OK() bool { return !f.Failed && len(f.Settings) == 0 }
