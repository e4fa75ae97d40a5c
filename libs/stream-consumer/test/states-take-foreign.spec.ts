import { takeForeign, takeForeignOrdered } from '../src/consumer/consumer.scripts';
import type { TakeAnswer } from '../src/consumer/consumer.scripts';
import { openTakes } from './states-takes';

describe.each([
  ['take-foreign', takeForeign, false],
  ['take-foreign-ordered', takeForeignOrdered, true],
])('%s, in a state and at a time of which all is known,', (_name, script, isOrdered) => {
  const { states, take, after, add, setUp } = openTakes(script, isOrdered);

  it.each([
    [
      'many fields',
      ['a', 'b', 'key', 'k1', 'long name', 'x'.repeat(12)],
      'taken false -1 900 | 1-1 1:a1:b3:key2:k19:long name12:xxxxxxxxxxxx k1  1 1800000000000',
    ],
    ['a key that is not text', ['key', '\u0001k'], 'taken false -1 900 | 1-1 3:key2:k %01k  1 1800000000000'],
    ['a key of UTF-8', ['key', 'é日😀'], 'taken false -1 900 | 1-1 3:key9:é日😀 é日😀  1 1800000000000'],
    ['a group', ['luanest:group', 'g', 'a', 'b'], 'taken false -1 900 | 1-1 1:a1:b   1 1800000000000'],
    ['another group', ['luanest:group', 'other', 'a', 'b'], 'taken false -1 900 | 1-1 1:a1:b   0 1800000000000'],
    [
      'packed fields',
      ['luanest:fields', '3:key2:k21:a1:b', 'key', 'no'],
      'taken false -1 900 | 1-1 3:key2:k21:a1:b no  1 1800000000000',
    ],
    [
      'packed fields with a value "key"',
      ['luanest:fields', '1:a3:key3:key2:k3'],
      'taken false -1 900 | 1-1 1:a3:key3:key2:k3 k3  1 1800000000000',
    ],
    [
      'packed fields without a key',
      ['luanest:fields', '1:a1:b', 'key', 'k4'],
      'taken false -1 900 | 1-1 1:a1:b k4  1 1800000000000',
    ],
    [
      'packed fields of another form',
      ['luanest:fields', '3:key2:k5x'],
      'taken false -1 900 | 1-1 3:key2:k5x k5  1 1800000000000',
    ],
  ])('takes an entry with %s', async (_, fields, expected) => {
    setUp();
    add('1-1', fields);
    expect((await after(take()))[0]).toEqual(expected);
  });

  it.each([
    ['\xc2\x80', ''],
    ['\xdf\xbf', '߿'],
    ['\xc1\x80', '%C1%80'],
    ['\xe0\xa0\x80', 'ࠀ'],
    ['\xe0\x9f\x80', '%E0%9F%80'],
    ['\xed\x9f\xbf', '퟿'],
    ['\xed\xa0\x80', '���'],
    ['\xe1\x80\x80', 'က'],
    ['\xef\xbf\xbf', '￿'],
    ['\xf0\x90\x80\x80', '𐀀'],
    ['\xf0\x8f\x80\x80', '%F0%8F%80%80'],
    ['\xf1\x80\x80\x80', '񀀀'],
    ['\xf4\x8f\xbf\xbf', '􏿿'],
    ['\xf4\x90\x80\x80', '%F4%90%80%80'],
    ['a \x7f', 'a %7F'],
    ['a \x7e', 'a ~'],
    ['\xc2', '%C2'],
  ])('reads the key of the bytes %j', async (bytes, expected) => {
    setUp();
    states.put('XADD', 'stream', '1-1', 'key', Buffer.from(bytes, 'latin1'));
    const [entry] = ((await take()) as TakeAnswer).entries;
    expect(entry?.key).toEqual(expected);
  });
});
