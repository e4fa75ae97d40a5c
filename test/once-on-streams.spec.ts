import { Injectable } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { Once, OnceModule, OnceService } from 'luanest/once';
import { ScriptRegistryModule } from 'luanest/script-registry';
import {
  deadLetter,
  retryLater,
  StreamConsumer,
  StreamConsumerModule,
  StreamConsumerService,
  type HandlerResult,
  type StreamMessage,
} from 'luanest/stream-consumer';
import { standaloneClient } from '../libs/script-registry/test/support';
import { uniquePrefix } from './support/shared-servers';
import { eventually } from './support/wait';

const ID = { id: ({ operationId }: StreamMessage<string>) => operationId as string, scope: 'pushes' };

let runs: string[] = [];

function work({ payload }: StreamMessage<string>): HandlerResult {
  runs.push(payload);
  if (payload === 'later' && runs.filter((run) => run === payload).length === 1) return retryLater({ delayMs: 20 });
  if (payload === 'never') return deadLetter('not wanted');
  return undefined;
}

/** Two groups that get every message, so each of them is a duplicate for one. */
@Injectable()
class Above {
  @Once(ID)
  @StreamConsumer({ stream: 'news', group: 'above' })
  push(message: StreamMessage<string>): HandlerResult {
    return work(message);
  }
}
@Injectable()
class Below {
  @StreamConsumer({ stream: 'news', group: 'below' })
  @Once(ID)
  push(message: StreamMessage<string>): HandlerResult {
    return work(message);
  }
}

let app: TestingModule;
let streams: StreamConsumerService;
const client = standaloneClient();

beforeAll(async () => {
  app = await Test.createTestingModule({
    imports: [
      ScriptRegistryModule.forRoot({ client, prefix: uniquePrefix(), preload: 'required' }),
      OnceModule.forRoot(),
      StreamConsumerModule.forRoot({ backoff: { delayMs: 20, maxDelayMs: 50 }, attempts: 20 }),
    ],
    providers: [Above, Below],
  }).compile();
  await app.init();
  streams = app.get(StreamConsumerService);
});
afterAll(async () => {
  await app.close();
  client.disconnect();
});
beforeEach(() => (runs = []));

const emptied = () =>
  eventually(async () => {
    for (const group of ['above', 'below']) {
      expect(await streams.stats('news', group)).toMatchObject({ pending: 0, lag: 0 });
    }
  });

/** Result of another run of a message's handler. */
const runAgain = (id: string) => app.get(OnceService).run({ scope: 'pushes', id }, {}, () => undefined);

it('handles a message of two groups once, in either order of the decorators', async () => {
  const texts = Array.from({ length: 200 }, (_, i) => `news ${i}`);
  await Promise.all(texts.map((text, i) => streams.publish('news', text, { operationId: `n${i}` })));
  await eventually(() => expect(new Set(runs).size).toBe(texts.length));
  await emptied();
  expect(runs.sort()).toEqual([...texts].sort());
});

it('does not take a retry or a dead letter that was asked for as done', async () => {
  await streams.publish('news', 'later', { operationId: 'later' });
  await eventually(() => expect(runs).toEqual(['later', 'later']));
  await emptied();
  expect(await runAgain('later')).toMatchObject({ status: 'duplicate' });

  await streams.publish('news', 'never', { operationId: 'never' });
  for (const group of ['above', 'below']) {
    await eventually(async () => {
      const page = await streams.deadLetters('news', group);
      expect(page.items.map(({ error }) => error)).toEqual(['not wanted']);
    });
  }
  expect(await runAgain('never')).toMatchObject({ status: 'ran' });
});
