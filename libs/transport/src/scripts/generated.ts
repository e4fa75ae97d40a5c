// Made by `npm run generate` from the .lua files in this folder and those that they include. Edit those.
interface Lua {
  readonly source: string;
}
const sourceReply: string = "--[[\nreply: pass a part of a reply to the client that sent the request, if the client listens.\n\nKEYS[1]  replies  name of the sharded channel  <prefix>:transport:{<client>}:replies; there is no such key\nARGV[1]  packet   str  JSON\n\nReturns {listeners}\n  listeners  int  number of connections that got the packet\n\nO(1). TTL: nothing is stored. Clock: none. Replay: passes the packet again; the client drops a number that it has.\n]]\nreturn { redis.call('SPUBLISH', KEYS[1], ARGV[1]) }\n";
export const replyLua: Lua = { source: sourceReply };
