import type { INestApplication } from '@nestjs/common'
import { Test } from '@nestjs/testing'
import { AppModule } from '../src/app.module'

describe('behind a proxy (e2e)', () => {
  let app: INestApplication
  let url: string

  beforeAll(async () => {
    const moduleRef = await Test.createTestingModule({ imports: [AppModule] }).compile()
    app = moduleRef.createNestApplication()
    await app.listen(0, '127.0.0.1')
    url = await app.getUrl()
  })
  afterAll(() => app.close())

  const get = (client: string) => fetch(url, { headers: { 'x-client-id': client } })

  it('counts each client by itself', async () => {
    expect([(await get('ann')).status, (await get('ann')).status]).toEqual([200, 200])
    const refused = await get('ann')
    expect(refused.status).toBe(429)
    expect(await refused.text()).toContain('Too many')
    expect((await get('bob')).status).toBe(200)
  })
})
