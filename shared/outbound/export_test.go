package outbound

// Control is what a client's dialer asks before each connection.
var Control = public
