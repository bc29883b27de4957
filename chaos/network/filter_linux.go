package network

import (
	"fmt"
	"os/exec"
	"strings"
)

// Cut drops all packets from some hosts to others, in that direction only.
func (n *Network) Cut(from, to []int) error {
	var sources []string
	for _, host := range from {
		sources = append(sources, Address(host))
	}
	for _, host := range to {
		if err := n.filter(host, fmt.Sprintf("add rule inet chaos in ip saddr { %s } drop", strings.Join(sources, ", "))); err != nil {
			return err
		}
	}
	return nil
}

// Part drops all packets between some hosts and others, in both directions.
func (n *Network) Part(a, b []int) error {
	if err := n.Cut(a, b); err != nil {
		return err
	}
	return n.Cut(b, a)
}

// Refuse answers all that comes from other hosts to a port of a host with a
// reset in the host's name.
func (n *Network) Refuse(host, port int) error {
	return n.filter(host, fmt.Sprintf(`add rule inet chaos in iifname "t0" tcp dport %d reject with tcp reset`, port))
}

// Reset answers every TCP packet that comes to a host from others or leaves it
// for them with a reset.
func (n *Network) Reset(host int) error {
	return n.filter(host,
		"add rule inet chaos out tcp flags & rst == rst accept", // those of this very rule
		`add rule inet chaos in iifname "t0" meta l4proto tcp reject with tcp reset`,
		`add rule inet chaos out oifname "t0" meta l4proto tcp reject with tcp reset`)
}

// ResetInward answers every TCP packet that comes to a host from others with a reset, and
// leaves what it sends alone. So only the others' ends of its connections
// break: there NoCrashDetection must be set.
func (n *Network) ResetInward(host int) error {
	return n.filter(host, `add rule inet chaos in iifname "t0" meta l4proto tcp reject with tcp reset`)
}

// Heal ends all cuts, refusals and resets. Links stay as they are set.
func (n *Network) Heal() error {
	for i := range n.hosts {
		if err := n.nft(i+1, "flush ruleset\n"); err != nil {
			return err
		}
	}
	return nil
}

// filter adds rules to a host's filter, and makes that if there is none.
func (n *Network) filter(host int, rules ...string) error {
	return n.nft(host, strings.Join(append([]string{
		"add table inet chaos",
		"add chain inet chaos in { type filter hook input priority 0; }",
		"add chain inet chaos out { type filter hook output priority 0; }",
	}, rules...), "\n")+"\n")
}

func (n *Network) nft(host int, script string) error {
	c := exec.Command("ip", "netns", "exec", n.Namespace(host), "nft", "-f", "-")
	c.Stdin = strings.NewReader(script)
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("nft on host %d: %w: %s(is nftables installed?)", host, err, out)
	}
	return nil
}
