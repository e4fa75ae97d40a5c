import { RequestMethod } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { Test } from '@nestjs/testing';
import { RedPacketController, RedPacketModule } from 'luanest/red-packet';
import { schemas } from '../src/openapi/schemas';
import { RedPacketPayoutsController } from '../src/payouts/payouts.controller';
import { figures, openBench } from './support';
import { ScriptRegistryModule } from 'luanest/script-registry';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { standaloneClient } from '../../script-registry/test/support';

interface Operation {
  readonly summary?: string;
  readonly requestBody?: unknown;
  readonly security?: unknown;
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly required?: boolean }[];
  readonly responses: Readonly<Record<string, { readonly content?: Record<string, { schema: object }> }>>;
}

/** Each route, as Nest serves it: `GET /red-packets/{activityId}`. */
function served(): string[] {
  return [RedPacketController, RedPacketPayoutsController].flatMap((controller) => {
    const base = Reflect.getMetadata(PATH_METADATA, controller) as string;
    const prototype = controller.prototype as unknown as Record<string, object>;
    return Object.getOwnPropertyNames(prototype).flatMap((name) => {
      const handler = prototype[name] as object;
      const method = Reflect.getMetadata(METHOD_METADATA, handler) as RequestMethod | undefined;
      if (method === undefined) return [];
      const path = Reflect.getMetadata(PATH_METADATA, handler) as string;
      const full = `/${base}/${path}`.replace(/\/+$/, '').replace(/:(\w+)/g, '{$1}');
      return [`${RequestMethod[method]} ${full.replace(/\/\//g, '/')}`];
    });
  });
}

describe('the OpenAPI document of an app with @nestjs/swagger', () => {
  it('describes each route: its parameters, its body, what it answers and what it refuses', async () => {
    const client = standaloneClient();
    const building = Test.createTestingModule({
      imports: [
        ScriptRegistryModule.forRoot({ client, prefix: uniquePrefix() }),
        RedPacketModule.forRoot({ identity: () => undefined, openApiSecurity: { user: 'login', admin: 'staff' } }),
      ],
    });
    const app = (await building.compile()).createNestApplication();
    await app.init();
    const document = SwaggerModule.createDocument(app, new DocumentBuilder().setTitle('t').build());
    await app.close();
    client.disconnect();
    const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(
        ([method, found]) => [`${method.toUpperCase()} ${path}`, found as Operation] as const,
      ),
    );
    expect(operations.map(([name]) => name).sort()).toEqual(served().sort());
    for (const [name, { summary, parameters, responses, requestBody, security }] of operations) {
      expect([name, summary?.length]).not.toEqual([name, 0]);
      const inPath = parameters.filter((one) => one.in === 'path').map((one) => one.name);
      const scheme = responses['401'] ? 'login' : responses['403'] && 'staff';
      expect([name, security]).toEqual([name, scheme && [{ [scheme]: [] }]]);
      expect([name, inPath]).toEqual([name, name === 'POST /red-packets' ? [] : ['activityId']]);
      for (const query of parameters.filter((one) => one.in === 'query')) expect(query.required).toBe(false);
      const success = responses[name === 'POST /red-packets' ? '201' : '200'];
      expect([name, success?.content?.['application/json']?.schema]).toEqual([
        name,
        expect.objectContaining({ type: 'object' }),
      ]);
      expect(Object.keys(responses)).toEqual(expect.arrayContaining(['400', '503']));
      expect([name, requestBody !== undefined]).toEqual([name, /^POST \/red-packets$|replay$/.test(name)]);
    }
    const pages = operations.filter(([, { parameters }]) => parameters.some(({ name }) => name === 'limit'));
    expect(pages.map(([name]) => name.replace(/.*}/, '')).sort()).toEqual([
      '/payouts/dead-letters',
      '/records',
      '/results',
    ]);
    for (const [, { parameters, responses }] of pages) {
      expect(parameters.filter((one) => one.in === 'query').map(({ name }) => name)).toEqual(['cursor', 'limit']);
      expect(responses['200']?.content?.['application/json']?.schema).toMatchObject({
        properties: { items: { type: 'array' }, nextCursor: { type: 'string' } },
        required: expect.not.arrayContaining(['nextCursor']) as unknown,
      });
    }
    const [, grab] = operations.find(([name]) => name.endsWith('/grab')) ?? [];
    expect(grab?.responses).toHaveProperty('401');
    expect(JSON.stringify(grab?.responses['200'])).toContain('already-won');
  });
});

it('the schemas have the fields of what the services return', async () => {
  const bench = await openBench(standaloneClient());
  try {
    const fieldsOf = (schema: object): string[] =>
      Object.keys((schema as { properties: Record<string, unknown> }).properties).sort();
    await bench.packets.create(figures('a', 2));
    expect(
      Object.keys(await bench.packets.grab('a', 'ann')).every((name) => fieldsOf(schemas.grab).includes(name)),
    ).toBe(true);
    expect(fieldsOf(schemas.status)).toEqual(Object.keys((await bench.packets.status('a')) ?? {}).sort());
    expect(fieldsOf(schemas.payouts)).toEqual(Object.keys((await bench.payouts.stats('a')) ?? {}).sort());
  } finally {
    bench.close();
  }
});
