import { clientReply, fromBytes, toBuffer, toBytes } from '../client-reply';
import { Push, type Reply } from '../reply';
import type { Server } from '../server';
import type { Session } from '../session';
import type { Listener } from './listener';

export interface DirectEvents {
  /** Called for each message of a sharded channel. */
  readonly message?: (channel: string, text: string) => void;
  /** Called once, when the server is stopped. */
  readonly ended: () => void;
}

/** A connection to a server in this process. It needs no client and no RESP. Commands run synchronously. */
export class DirectLink {
  private readonly session: Session;
  private readonly forget: () => void;
  isOpen = true;

  constructor(
    private readonly server: Server,
    listener: Listener,
    on: DirectEvents,
  ) {
    this.session = server.open(
      (reply) => passMessage(reply, on.message),
      () => this.close(),
    );
    this.session.protocol = 3;
    this.forget = listener.add({
      destroy: () => {
        this.close();
        on.ended();
      },
    });
  }

  /** Runs a command. @returns the reply, with a Buffer for each string. An error reply is returned as an Error, not thrown */
  run(name: string, args: readonly (string | Buffer)[]): unknown {
    return clientReply(this.server.execute(this.session, [name, ...args.map(toBytes)]), toBuffer);
  }

  close(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.forget();
    this.server.forget(this.session);
  }
}

function passMessage(reply: Reply, message: DirectEvents['message']): void {
  if (!(reply instanceof Push)) return;
  // A message of a sharded channel has only strings.
  const [kind, channel = '', text = ''] = reply.items as readonly string[];
  if (kind === 'smessage') message?.(fromBytes(channel), fromBytes(text));
}
