import { OK, refuse, type Reply } from '../reply';
import { notInScripts, reads, type CommandTable, type Context } from './command';

function end({ session }: Context): void {
  session.queue = undefined;
  session.queueIsWrong = false;
}

export const transactionCommands: CommandTable = {
  discard: notInScripts(
    reads(1, (context) => {
      if (context.session.queue === undefined) refuse('ERR DISCARD without MULTI');
      end(context);
      return OK;
    }),
  ),
  exec: notInScripts(
    reads(1, (context): Reply => {
      const { queue, queueIsWrong } = context.session;
      if (queue === undefined) refuse('ERR EXEC without MULTI');
      end(context);
      if (queueIsWrong) refuse('EXECABORT Transaction discarded because of previous errors.');
      return queue.map((words) => context.server.execute(context.session, words));
    }),
  ),
  multi: notInScripts(
    reads(1, ({ session }) => {
      if (session.queue !== undefined) refuse('ERR MULTI calls can not be nested');
      session.queue = [];
      return OK;
    }),
  ),
  unwatch: notInScripts(reads(1, () => OK)),
  watch: notInScripts(reads(-2, () => refuse('ERR the in-memory server does not support WATCH'))),
};
