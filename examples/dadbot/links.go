package main

import "github.com/troupe-go/troupe/transport"

// linkFlags declares how links between nodes are secured.
func (f *nodeFlags) linkFlags() {
	s := f.set.Section("links")
	s.StringVar(&f.tls.CertFile, "tls-cert", "", "`file` with this node's certificate, for links by mutual TLS; it names the host that other nodes dial")
	s.StringVar(&f.tls.KeyFile, "tls-key", "", "`file` with its private key")
	s.StringVar(&f.tls.CAFile, "tls-ca", "", "`file` with the authorities of the other nodes' certificates")
	s.StringVar(&f.secretFile, "secret-file", "", "`file` with a secret that all nodes share, of 16 bytes or more: links are encrypted, and only who knows it joins")
	s.BoolVar(&f.opts.house.Cluster.Insecure, "insecure", false, "allow plain links beyond this machine")
}

// secureLinks applies these flags; the node checks the files.
func (f *nodeFlags) secureLinks() (err error) {
	c := &f.opts.house.Cluster
	switch given := f.given("tls-cert") || f.given("tls-key") || f.given("tls-ca"); {
	case given && (f.tls.CertFile == "" || f.tls.KeyFile == "" || f.tls.CAFile == ""):
		return badUsage("-tls-cert, -tls-key and -tls-ca belong together: give all three")
	case given:
		c.TLS = &f.tls
	}
	if f.secretFile != "" {
		if c.Secret, err = transport.ReadSecret(f.secretFile); err != nil {
			return badUsage("-secret-file: %v", err)
		}
	}
	if c.Insecure && (c.TLS != nil || c.Secret != "") {
		return badUsage("-insecure allows plain links, which the other flags rule out: leave it out")
	}
	return nil
}
