package dad

import "strconv"

// Pun gives the n-th pun, counted from 0. The list is fixed and in order; after
// its end it starts again with numbered variants, without end, so no two n give
// the same pun.
func Pun(n int) string {
	puns := [...]string{
		"I would tell you a UDP joke, but I could not be sure that you get it.",
		"I would tell you a TCP joke, but I would have to repeat it until you nod.",
		"Why did the two nodes break up? They could not reach a consensus.",
		"My favourite gossip is eventually consistent.",
		"I told the leader a joke. He said he would commit to laughing once the majority did.",
		"There are two hard things: naming, exactly-once jokes, and exactly-once jokes.",
		"Why do actors never argue? They only pass each other messages.",
		"I have a joke about a deadlock, but I am waiting for you to laugh first.",
		"The shard moved out. It said it needed more room to hash things out.",
		"I wanted to tell a cache joke, but you have heard it. Or have you?",
		"Why was the heartbeat so calm? It took everything one second at a time.",
		"A vector clock walks into a bar. The bartender cannot say whether it came before the other guests.",
		"I do not trust stairs or split brains: both are up to something, and so are both halves.",
		"My mailbox is bounded. My puns, sadly for you, are not.",
		"What does a quorum order for lunch? Whatever more than half of them agree on.",
		"I asked the load balancer to carry the shopping. It gave me one bag and a round-robin.",
		"Why did the goroutine stay calm? It knew how to yield.",
		"A timeout is what I gave the kids, and what they gave my jokes.",
		"I am reading a book about idempotence. I can not put it down twice.",
		"Old leaders never die. They only lose their terms.",
		"Let me know if this joke arrives late. Better latent than never.",
		"I used to be a singleton. Then I met your mother and we became a cluster.",
	}
	pun := puns[n%len(puns)]
	if lap := n / len(puns); lap > 0 {
		pun += " (take " + strconv.Itoa(lap+1) + ")"
	}
	return pun
}
