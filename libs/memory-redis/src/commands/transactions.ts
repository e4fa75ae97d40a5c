import { NULL_ARRAY, OK, refuse, type Reply } from '../reply';
import { Watch } from '../watches';
import { notInScripts, reads, type CommandTable, type Context } from './command';

/** Ends the transaction of a connection, and what it watches. */
export function end(context: Context): void {
  const { session } = context;
  session.queue = undefined;
  session.queueIsWrong = false;
  unwatch(context);
}

function unwatch({ db, session }: Context): void {
  if (session.watch !== undefined) db.watches.remove(session.watch);
  session.watch = undefined;
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
      const { queue, queueIsWrong, watch } = context.session;
      if (queue === undefined) refuse('ERR EXEC without MULTI');
      // Reading a key removes it if it has expired. A watched key that has expired then counts as changed.
      for (const key of watch?.keys ?? []) context.db.get(key);
      const isBroken = watch?.isBroken === true;
      end(context);
      if (queueIsWrong) refuse('EXECABORT Transaction discarded because of previous errors.');
      if (isBroken) return NULL_ARRAY;
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
  unwatch: notInScripts(
    reads(1, (context) => {
      unwatch(context);
      return OK;
    }),
  ),
  watch: notInScripts(
    reads(-2, ({ db, session }, keys) => {
      if (session.queue !== undefined) refuse('ERR WATCH inside MULTI is not allowed');
      session.watch ??= new Watch();
      for (const key of keys) {
        // Reading a key removes it if it has expired. Otherwise its removal would count as a change later.
        db.get(key);
        db.watches.add(key, session.watch);
      }
      return OK;
    }),
  ),
};
