package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestThePageInABrowser says something on the page of one of three nodes, in a
// browser, and wants to see it sent and Dad's joke about it. What the page shows of a
// chat must also be what another node's page shows.
func TestThePageInABrowser(t *testing.T) {
	t.Parallel()
	nodes := startCluster(t, 3)
	tab := openTab(t)
	do := func(what string, steps ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		if err := chromedp.Do(tab, steps...); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	text := func(selector chromedp.CSS) string {
		t.Helper()
		s, err := chromedp.Run(tab, chromedp.Text(selector))
		if err != nil {
			t.Fatalf("text of %s: %v", selector, err)
		}
		return s
	}
	do("open the page", chromedp.Navigate(nodes[0].http+"/#browser"), chromedp.WaitVisible(chromedp.CSS("#place strong")))
	do("say something", chromedp.SendKeys(chromedp.CSS("#from"), "Ann"), chromedp.SendKeys(chromedp.CSS("#text"), "I need a break\r"))
	do("wait until it is sent", chromedp.WaitVisible(chromedp.CSS("#lines .mine:not(.sending)")))
	do("wait for the joke", chromedp.WaitVisible(chromedp.CSS("#lines .joke")))
	said, joke := text("#lines .mine .text"), text("#lines .joke .text")
	if said != "I need a break" || joke == "" {
		t.Errorf("the page shows the message %q and the joke %q, want what was said and a joke", said, joke)
	}
	if place := text("#place"); !strings.Contains(place, "browser lives in shard") {
		t.Errorf("above the chat is %q, want where its Dad lives", place)
	}
	do("open the page of another node", chromedp.Navigate(nodes[1].http+"/#browser"), chromedp.WaitVisible(chromedp.CSS("#lines .joke")))
	if again := text("#lines .joke .text"); again != joke {
		t.Errorf("another node's page shows the joke %q, want %q", again, joke)
	}
}

// openTab starts a browser, and gives its tab until the test ends.
func openTab(t *testing.T) context.Context {
	t.Helper()
	path, err := browser()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	t.Cleanup(cancel)
	ctx, closeBrowser := chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox)...) // a sandbox is not to be had as root
	t.Cleanup(closeBrowser)
	tab, closeTab := chromedp.NewContext(ctx)
	t.Cleanup(closeTab)
	return tab
}

// browser finds Chromium, or installs Debian's.
func browser() (path string, err error) {
	if path, err = exec.LookPath("chromium"); err == nil {
		return path, nil
	}
	const install = `set -e
apt-get update -q
DEBIAN_FRONTEND=noninteractive apt-get install -yq --no-install-recommends chromium`
	if out, err := exec.Command("sh", "-c", install).CombinedOutput(); err != nil {
		return "", fmt.Errorf("chromium is missing, and apt-get cannot install it: %w\n%s", err, out)
	}
	return exec.LookPath("chromium")
}
