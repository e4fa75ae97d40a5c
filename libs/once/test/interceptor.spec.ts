import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host';
import { Reflector } from '@nestjs/core';
import { Idempotent, IdempotencyInterceptor } from 'luanest/once';
import { NEVER } from 'rxjs';
import { FakeRegistry } from '../../../test/support/fake-registry';
import { ManualTime } from '../../../test/support/manual-time';
import { IdempotencyParts } from '../src/idempotency/idempotency.parts';
import { resolveOptions } from '../src/once.options';
import { OnceService } from '../src/once.service';
import { OnceStore } from '../src/once.store';
import { Runs } from '../src/runs/runs';
import { claimed } from './claims-support';
import { start } from './protected-support';

const time = new ManualTime();

class Orders {
  @Idempotent({ leaseMs: 3_000 })
  create(): void {}
}

/** Sends a request with a key to an idempotent route, whose handler does not end. Its claim is in flight then. */
function request() {
  const registry = new FakeRegistry();
  const options = resolveOptions({ idempotency: { subject: () => 'ann' } });
  const runs = new Runs(options);
  const once = new OnceService(new OnceStore(registry.asRegistry), options, runs);
  const interceptor = new IdempotencyInterceptor(once, new Reflector(), new IdempotencyParts(options, runs));
  const posted = { method: 'POST', url: '/orders', headers: { 'idempotency-key': 'k' }, body: {} };
  const create = Reflect.get<Orders, 'create'>(Orders.prototype, 'create');
  const context = new ExecutionContextHost([posted, start().raw], Orders, create);
  const begin = jest.spyOn(runs, 'begin');
  interceptor.intercept(context, { handle: () => NEVER }).subscribe();
  expect(registry.scripts).toEqual(['once.claim']);
  const run = () => begin.mock.results[0]?.value as ReturnType<Runs['begin']>;
  return { registry, run };
}

describe('the lease of a request', () => {
  it('counts from when its claim was sent, not from the reply', async () => {
    const { registry, run } = request();
    await time.pass(1_000);
    registry.last.reply.resolve(claimed);
    // The renewal, which is due at once, gets no reply.
    await time.pass(1_998);
    expect([registry.last.script, run().signal.aborted]).toEqual(['once.renew', false]);
    await time.pass(1);
    expect([run().over, run().signal.aborted]).toEqual([true, true]);
  });
});
