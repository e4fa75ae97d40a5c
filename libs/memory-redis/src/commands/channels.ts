import { NO_REPLY, Push, type Reply } from '../reply';
import { globPattern } from '../scan';
import type { ChannelKind } from '../session';
import { at, notInScripts, reads, writes, type Command, type CommandTable, type Context } from './command';

function countOf({ session }: Context, kind: ChannelKind): number {
  return kind === 'shards' ? session.shards.size : session.channels.size + session.patterns.size;
}

function subscribe(name: string, kind: ChannelKind): Command {
  return notInScripts(
    reads(-2, (context, channels) => {
      for (const channel of channels) {
        context.server.channels.subscribe(context.session, kind, channel);
        context.session.send(new Push([name, channel, countOf(context, kind)]));
      }
      return NO_REPLY;
    }),
  );
}

function unsubscribe(name: string, kind: ChannelKind): Command {
  return notInScripts(
    reads(-1, (context, args): Reply => {
      const channels = args.length > 0 ? args : [...context.session[kind]];
      for (const channel of channels) {
        context.server.channels.unsubscribe(context.session, kind, channel);
        context.session.send(new Push([name, channel, countOf(context, kind)]));
      }
      if (channels.length === 0) context.session.send(new Push([name, null, countOf(context, kind)]));
      return NO_REPLY;
    }),
  );
}

function list(kind: ChannelKind): Command {
  return reads(-2, ({ server }, args) => {
    const pattern = globPattern(args[0] ?? '*');
    return server.channels.names(kind).filter((name) => pattern.test(name));
  });
}

function count(kind: ChannelKind): Command {
  return reads(-2, ({ server }, names) => names.flatMap((name) => [name, server.channels.countOf(kind, name)]));
}

export const channelCommands: CommandTable = {
  psubscribe: subscribe('psubscribe', 'patterns'),
  publish: writes(3, ({ server }, args) => server.channels.publish(at(args, 0), at(args, 1))),
  pubsub: {
    subcommands: {
      channels: list('channels'),
      numpat: reads(2, ({ server }) => server.channels.names('patterns').length),
      numsub: count('channels'),
      shardchannels: list('shards'),
      shardnumsub: count('shards'),
    },
  },
  punsubscribe: unsubscribe('punsubscribe', 'patterns'),
  spublish: writes(3, ({ server }, args) => server.channels.publishToShard(at(args, 0), at(args, 1))),
  ssubscribe: subscribe('ssubscribe', 'shards'),
  subscribe: subscribe('subscribe', 'channels'),
  sunsubscribe: unsubscribe('sunsubscribe', 'shards'),
  unsubscribe: unsubscribe('unsubscribe', 'channels'),
};
