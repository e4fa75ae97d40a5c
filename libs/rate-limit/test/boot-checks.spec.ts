import { Controller, Get } from '@nestjs/common';
import { RateLimit, SkipRateLimit } from '../src/rate-limit.decorator';
import { handlerOf, minute, open, refused } from './boot-checks-support';

const opened = (...parts: Parameters<typeof open>): ReturnType<typeof open>['check'] => open(...parts).check;

describe('rules of the same name', () => {
  @RateLimit({ name: 'a', ...minute, limit: 9 })
  class Same {
    @RateLimit({ name: 'a', ...minute, blockMs: 1 })
    one(): void {}
  }
  class Longer {
    @RateLimit({ name: 'a', ...minute, windowMs: 60_001 })
    one(): void {}
  }
  class Sliding {
    @RateLimit({ name: 'a', ...minute, algorithm: 'sliding-window' })
    one(): void {}
  }

  it('may differ in all that does not change their counter', () => {
    const check = opened({ rules: [{ name: 'a', ...minute }] });
    expect([check(Same, 'one'), check(Same, 'one')]).toEqual(['accepted', 'accepted']);
  });

  it('must have the same window as that of the module', () => {
    const check = opened({ rules: [{ name: 'a', ...minute }] });
    expect(check(Longer, 'one')).toBe(
      refused(
        '@RateLimit on Longer.one',
        'windowMs of rule "a" is 60001, but 60000 in the rules of RateLimitModule. Rules with the same name share one counter, ' +
          'so they need the same windowMs. Give this rule another name. If this rule should replace the other one here, ' +
          'also add @SkipRateLimit("a").',
      ),
    );
  });

  it('must have the same algorithm as the first rule of the routes', () => {
    const check = opened();
    expect(check(Same, 'one')).toBe('accepted');
    expect(check(Sliding, 'one')).toBe(
      refused(
        '@RateLimit on Sliding.one',
        'algorithm of rule "a" is "sliding-window", but "fixed-window" in @RateLimit on Same. Rules with the same name share ' +
          'one counter, so they need the same algorithm. Give this rule another name. If this rule should ' +
          'replace the other one here, also add @SkipRateLimit("a").',
      ),
    );
  });

  it('are compared also on a class', () => {
    @RateLimit({ name: 'a', ...minute, windowMs: 1 })
    class Short {
      one(): void {}
    }
    const check = opened({ rules: [{ name: 'b', ...minute }, { name: 'a', ...minute }] }); // prettier-ignore
    expect(check(Short, 'one')).toContain('@RateLimit on Short: windowMs of rule "a" is 1, but 60000 in the rules of');
  });
});

describe('rules without a name', () => {
  const unnamed = (where: string, owner: string, name: string): string =>
    refused(
      `@RateLimit on ${where}`,
      `This rule and a rule of ${owner} have no name, and both would get the name "${name}" from their routes. ` +
        'Set the option `name` of both rules.',
    );

  @Controller('cats')
  @RateLimit(minute)
  class Cats {
    one(): void {}
  }

  @Controller('cats')
  class Routes {
    @Get('x')
    @RateLimit(minute)
    one(): void {}

    @Get('x')
    @RateLimit(minute)
    two(): void {}

    @Get('y')
    @RateLimit(minute, minute)
    three(): void {}
  }

  it('must not get the same name on two classes', () => {
    @Controller('cats')
    @RateLimit(minute)
    class OtherCats {
      one(): void {}
    }
    const check = opened();
    expect(check(Cats, 'one')).toBe('accepted');
    expect(check(OtherCats, 'one')).toBe(unnamed('OtherCats', 'Cats', '/cats'));
  });

  it('must not get the same name on two methods of a class', () => {
    expect(opened()(Routes, 'one', 'two')).toBe(unnamed('Routes.two', 'Routes.one', 'GET /cats/x'));
  });

  it('must not get the same name on a method that two classes share', () => {
    @Controller('cats')
    class Heirs extends Routes {}
    const check = opened();
    expect(check(Routes, 'one')).toBe('accepted');
    expect(check(Heirs, 'one')).toBe(unnamed('Heirs.one', 'Routes.one', 'GET /cats/x'));
  });

  it('may be checked again, and may be several on a route', () => {
    const check = opened();
    expect([check(Cats, 'one'), check(Cats, 'one')]).toEqual(['accepted', 'accepted']);
    expect([check(Routes, 'one', 'three'), check(Routes, 'three')]).toEqual(['accepted', 'accepted']);
  });

  it('are not those with a name, which classes may share', () => {
    class First {
      @RateLimit({ name: 'a', ...minute })
      one(): void {}
    }
    class Second {
      @RateLimit({ name: 'a', ...minute })
      one(): void {}
    }
    const check = opened();
    expect([check(First, 'one'), check(Second, 'one')]).toEqual(['accepted', 'accepted']);
  });
});

describe('rules that no guard enforces', () => {
  const unguarded = (where: string, on: string): string =>
    refused(
      `@RateLimit on ${where}`,
      `The rule is not enforced, because no RateLimitGuard was found. Add @UseGuards(RateLimitGuard) to ${on}, or provide ` +
        'the guard as APP_GUARD.',
    );

  @RateLimit({ name: 'a', ...minute })
  class Limited {
    one(): void {}
    two(): void {}
  }

  class Methods {
    @RateLimit({ name: 'a', ...minute })
    one(): void {}

    @RateLimit({ name: 'b', ...minute })
    two(): void {}

    @SkipRateLimit()
    three(): void {}
  }
  const [one, two] = ['one', 'two'].map((name) => handlerOf(Methods, name));

  it('are refused on a class of which nothing is guarded', () => {
    expect(opened({ guarded: [] })(Limited, 'one', 'two')).toBe(unguarded('Limited', 'the class'));
  });

  it.each([
    ['the class', [Limited]],
    ['its first method', [handlerOf(Limited, 'one')]],
    ['its last method', [handlerOf(Limited, 'two')]],
  ])('are accepted on a class if %s is guarded', (_name, guarded) => {
    expect(opened({ guarded })(Limited, 'one', 'two')).toBe('accepted');
  });

  it('are refused on a method that is not guarded, although another method is', () => {
    const on = 'the method or its class';
    expect(opened({ guarded: [one] })(Methods, 'one', 'two')).toBe(unguarded('Methods.two', on));
    expect(opened({ guarded: [two] })(Methods, 'one', 'two')).toBe(unguarded('Methods.one', on));
  });

  it('are accepted on methods if the class or each of the methods is guarded', () => {
    expect(opened({ guarded: [Methods] })(Methods, 'one', 'two')).toBe('accepted');
    expect(opened({ guarded: [one, two] })(Methods, 'one', 'two', 'three')).toBe('accepted');
  });

  it('are not missed on a method that only skips rules, or on a class without methods', () => {
    expect([opened({ guarded: [] })(Methods, 'three'), opened({ guarded: [] })(Limited)]).toEqual([
      'accepted',
      'accepted',
    ]);
  });
});
