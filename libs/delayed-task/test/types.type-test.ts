// Compiled, never run: each `@ts-expect-error` fails the type check when the line below it compiles.
import { DelayedTask, defineTask, type DelayedTaskService, type TaskContext } from 'luanest/delayed-task';

declare const tasks: DelayedTaskService;

const expire = defineTask<{ orderId: string }>({ name: 'order.expire', attempts: 3 });
const remind = defineTask<{ userId: number }>({ name: 'user.remind' });

export class Handlers {
  @DelayedTask(expire)
  expire({ orderId }: { orderId: string }, { attempt }: TaskContext): string {
    return `${orderId} ${attempt}`;
  }

  @DelayedTask(expire)
  ignore(): void {}

  @DelayedTask(expire.name)
  piped(payload: Date): Date {
    return payload;
  }

  // @ts-expect-error the payload has another type
  @DelayedTask(expire)
  wrong({ userId }: { userId: number }): number {
    return userId;
  }
}

export async function calls(): Promise<void> {
  await tasks.schedule(expire, { orderId: 'o1' }, { delayMs: 5 });
  await tasks.schedule('order.expire', { anything: 1 });
  await tasks.schedule('order.expire');
  // @ts-expect-error the payload has another type
  await tasks.schedule(expire, { orderId: 1 });
  // @ts-expect-error the payload is missing
  await tasks.schedule(expire);

  await tasks.scheduleMany([
    { task: expire, payload: { orderId: 'o1' } },
    { task: remind, payload: { userId: 1 }, delayMs: 5 },
    { name: 'plain', payload: 5 },
  ]);
  await tasks.scheduleMany(['o1', 'o2'].map((orderId) => ({ task: expire, payload: { orderId } })));
  await tasks.scheduleMany(['a', 'b'].map((name) => ({ name })));
  // @ts-expect-error the payload has another type
  await tasks.scheduleMany([{ task: expire, payload: { userId: 1 } }]);

  tasks.handle(expire, ({ orderId }) => orderId.length);
  tasks.handle('plain', (payload: number) => payload);
  // @ts-expect-error the payload has another type
  tasks.handle(expire, (payload: number) => payload);

  const typed = await tasks.get('o1', expire);
  const orderId: string | undefined = typed?.payload?.orderId;
  const plain = await tasks.get('o1');
  // @ts-expect-error the payload is unknown without a definition
  void plain?.payload?.orderId;
  void orderId;
}

// @ts-expect-error an unknown setting
defineTask({ name: 'x', attempt: 3 });
