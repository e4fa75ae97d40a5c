import { integer } from '../numbers';
import { OK, refuse, type Reply } from '../reply';
import { at, isWord, notInScripts, reads, writes, type Command, type CommandTable, type Context } from './command';

function evaluate(byText: boolean, readOnly: boolean): Command {
  const run = ({ server }: Context, [script = '', count = '', ...rest]: readonly string[]): Reply => {
    const keys = integer(count);
    if (keys > rest.length) refuse("ERR Number of keys can't be greater than number of args");
    if (keys < 0) refuse("ERR Number of keys can't be negative");
    const sha = byText ? server.scripts.load(script) : script.toLowerCase();
    return server.scripts.run(sha, rest.slice(0, keys), rest.slice(keys), readOnly);
  };
  return notInScripts(readOnly ? reads(-3, run) : writes(-3, run));
}

export const scriptCommands: CommandTable = {
  eval: evaluate(true, false),
  eval_ro: evaluate(true, true),
  evalsha: evaluate(false, false),
  evalsha_ro: evaluate(false, true),
  script: {
    subcommands: {
      exists: notInScripts(reads(-3, ({ server }, shas) => shas.map((sha) => (server.scripts.has(sha) ? 1 : 0)))),
      flush: notInScripts(
        reads(-2, ({ server }, args) => {
          if (args.length > 1 || (args.length === 1 && !isWord(args[0], 'ASYNC') && !isWord(args[0], 'SYNC'))) {
            refuse('ERR SCRIPT FLUSH only support SYNC|ASYNC option');
          }
          server.scripts.flush();
          return OK;
        }),
      ),
      kill: notInScripts(reads(2, () => refuse('NOTBUSY No scripts in execution right now.'))),
      load: notInScripts(reads(3, ({ server }, args) => server.scripts.load(at(args, 0)))),
    },
  },
};
