package manage

import (
	"log/slog"
	"testing"
)

func levelAt(text string) *slog.LevelVar {
	v := new(slog.LevelVar)
	if err := v.UnmarshalText([]byte(text)); err != nil {
		panic(err)
	}
	return v
}

func TestLogLevel(t *testing.T) {
	level := levelAt("INFO")
	h := served(threeNodes(), nil, Options{Token: token, Level: level})
	for _, tt := range []struct {
		method, query string
		status        int
		body          string
		level         slog.Level
	}{
		{"GET", "?logger=ROOT", 200, "INFO", slog.LevelInfo},
		{"GET", "", 200, "INFO", slog.LevelInfo},
		{"PUT", "?logger=ROOT&level=DEBUG", 200, "OK", slog.LevelDebug},
		{"GET", "?logger=ROOT", 200, "DEBUG", slog.LevelDebug},
		{"PUT", "?level=warn", 200, "OK", slog.LevelWarn},
		{"PUT", "?logger=ROOT&level=info%2B2", 200, "OK", slog.LevelInfo + 2},
		{"GET", "?logger=ROOT", 200, "INFO+2", slog.LevelInfo + 2},
		{"PUT", "?logger=ROOT&level=loud", 400, "level must be DEBUG, INFO, WARN or ERROR, or one with a number added such as DEBUG-4\n", slog.LevelInfo + 2},
		{"PUT", "?logger=ROOT", 400, "level must be DEBUG, INFO, WARN or ERROR, or one with a number added such as DEBUG-4\n", slog.LevelInfo + 2},
		{"PUT", "?logger=com.example&level=DEBUG", 404, "there is no such logger: the only one is ROOT\n", slog.LevelInfo + 2},
		{"GET", "?logger=com.example", 404, "there is no such logger: the only one is ROOT\n", slog.LevelInfo + 2},
	} {
		w := send(h, tt.method, "/loglevel/slog"+tt.query, "", "Bearer "+token)
		if got := w.Body.String(); w.Code != tt.status || got != tt.body || level.Level() != tt.level {
			t.Errorf("%s /loglevel/slog%s = %d %q and the level %v, want %d %q and %v", tt.method, tt.query, w.Code, got, level.Level(), tt.status, tt.body, tt.level)
		}
	}
	if w := send(h, "PUT", "/loglevel/slog?level=DEBUG", "", ""); w.Code != 401 {
		t.Errorf("PUT without the token = %d, want 401", w.Code)
	}
}
