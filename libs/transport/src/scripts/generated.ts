// Made by `npm run generate` from the .lua files in this folder and those that they include. Edit those.
interface Lua {
  readonly source: string;
}
const sourceReply: string = "--[[\nreply: publish a part of a reply for the client that made the request. Nothing is stored if the client does not listen.\n\nKEYS[1]  replies  name of the sharded channel  <prefix>:transport:{<client>}:replies; there is no such key\nARGV[1]  packet   str  JSON\n\nReturns {listeners}\n  listeners  int  number of connections that got the packet\n\nO(1). TTL: nothing is stored. Clock: none. Replay: publishes the packet again; the client ignores a part that it has already.\n]]\nreturn { redis.call('SPUBLISH', KEYS[1], ARGV[1]) }\n";
export const replyLua: Lua = { source: sourceReply };
