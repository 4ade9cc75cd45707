//! Attacks on tickets, by name.

use super::*;

#[test]
fn a_ticket_of_another_principal_is_never_offered() {
    let mut book = Book::new();
    let ada = book.offer(&subject("ada"));

    let bob = book.offer(&subject("bob"));

    assert_ne!(ada, bob);
    assert_eq!(book.subject(&ada).unwrap(), subject("ada"));
    assert_eq!(book.subject(&bob).unwrap(), subject("bob"));
    assert_eq!(book.offer(&subject("ada")), ada, "its own is offered again");
}

#[test]
fn a_principal_that_is_called_owner_is_not_the_owner() {
    let mut book = Book::new();
    let mut owner = subject("owner");
    owner.caller.principal = Principal::owner();
    let ticket = book.offer(&owner);

    assert_ne!(book.offer(&subject("owner")), ticket);
}

#[test]
fn a_ticket_for_another_client_or_server_is_another_ticket() {
    let mut book = Book::new();
    let ticket = book.offer(&subject("ada"));
    let other_client = LoginSubject { client: "other".to_owned(), ..subject("ada") };
    let other_server = LoginSubject { server: "other".into(), ..subject("ada") };

    assert_ne!(book.offer(&other_client), ticket);
    assert_ne!(book.offer(&other_server), ticket);
}

#[test]
fn a_ticket_is_good_for_one_consent() {
    let mut book = Book::new();
    let ticket = book.offer(&subject("ada"));
    book.show(&ticket, "form", "browser").unwrap();

    assert_eq!(book.consent(&ticket, "form", Some("browser")), Ok(()));

    assert_eq!(book.consent(&ticket, "form", Some("browser")), Err(NoConsent::NoTicket));
    assert_eq!(book.subject(&ticket), Err(NoTicket));
    assert_eq!(book.show(&ticket, "form", "browser"), Err(NoTicket));
    assert_ne!(book.offer(&subject("ada")), ticket);
}

#[test]
fn a_ticket_that_is_too_old_is_none() {
    let mut book = Book::new();
    let ticket = book.offer(&subject("ada"));
    book.show(&ticket, "form", "browser").unwrap();
    book.now += LIFE;

    assert_eq!(book.subject(&ticket), Err(NoTicket));
    assert_eq!(book.consent(&ticket, "form", Some("browser")), Err(NoConsent::NoTicket));
}

#[test]
fn a_callback_after_the_end_of_the_ticket_is_nobodys() {
    let mut book = Book::new();
    let ticket = book.offer(&subject("ada"));
    book.show(&ticket, "form", "browser").unwrap();
    book.consent(&ticket, "form", Some("browser")).unwrap();
    assert!(book.under_way(&ticket, "browser").is_some());
    book.now += LIFE;

    assert!(book.under_way(&ticket, "browser").is_none());
}

#[test]
fn a_forged_ticket_is_none() {
    let mut book = Book::new();
    let ticket = book.offer(&subject("ada"));

    for forged in ["", "1", &ticket[1..], &ticket.to_uppercase(), &TicketId::of(&ticket).0] {
        assert_eq!(book.subject(forged), Err(NoTicket), "{forged}");
    }
}

#[test]
fn a_form_counts_only_from_the_page_that_was_shown_last() {
    let mut book = Book::new();
    let ticket = book.offer(&subject("ada"));
    let before = book.consent(&ticket, "form", Some("browser"));
    book.show(&ticket, "old", "browser").unwrap();
    book.show(&ticket, "new", "browser").unwrap();

    assert_eq!(before, Err(NoConsent::OtherPage), "no page was shown");
    assert_eq!(book.consent(&ticket, "old", Some("browser")), Err(NoConsent::OtherPage));
    assert_eq!(book.decline(&ticket, "old", Some("browser")), Err(NoConsent::OtherPage));
    assert_eq!(book.consent(&ticket, "new", Some("browser")), Ok(()));
}

#[test]
fn a_form_from_another_browser_is_no_consent() {
    let mut book = Book::new();
    let ticket = book.offer(&subject("ada"));
    book.show(&ticket, "form", "browser").unwrap();

    assert_eq!(book.consent(&ticket, "form", Some("other")), Err(NoConsent::OtherPage));
    assert_eq!(book.consent(&ticket, "form", None), Err(NoConsent::OtherPage));
}

/// Who has consented could send the address of the authorization server to somebody else, who would log in there
/// and so give their account away.
#[test]
fn a_callback_in_another_browser_is_nobodys() {
    let mut book = Book::new();
    let ticket = book.offer(&subject("ada"));
    book.show(&ticket, "form", "browser").unwrap();
    assert!(book.under_way(&ticket, "browser").is_none(), "nobody has consented");
    book.consent(&ticket, "form", Some("browser")).unwrap();

    assert!(book.under_way(&ticket, "other").is_none());
    assert_eq!(book.under_way(&ticket, "browser"), Some(subject("ada")));
}

#[test]
fn a_person_who_says_no_is_not_asked_by_that_ticket_again() {
    let mut book = Book::new();
    let ticket = book.offer(&subject("ada"));
    book.show(&ticket, "form", "browser").unwrap();

    assert_eq!(book.decline(&ticket, "form", Some("browser")), Ok(()));

    assert_eq!(book.subject(&ticket), Err(NoTicket));
}

#[test]
fn one_principal_cannot_use_up_the_tickets_of_others() {
    let mut book = Book::new();
    for number in 0..MOST_OF_PRINCIPAL {
        book.offer(&LoginSubject { client: format!("{number}"), ..subject("ada") });
    }

    let one_more = LoginSubject { client: "one more".to_owned(), ..subject("ada") };
    assert_eq!(book.tickets.offer(&one_more, "secret".to_owned(), book.now), None);
    assert!(!book.offer(&subject("bob")).is_empty());
    book.now += LIFE;
    assert!(!book.offer(&one_more).is_empty(), "old ones are forgotten");
}

/// Tickets, and the time.
struct Book {
    tickets: Tickets,
    now: Instant,
    count: u64,
}

impl Book {
    fn new() -> Self {
        Self { tickets: Tickets::default(), now: Instant::now(), count: 0 }
    }

    fn offer(&mut self, subject: &LoginSubject) -> String {
        self.count += 1;
        let secret = format!("secret-{}", self.count);
        self.tickets.offer(subject, secret, self.now).unwrap()
    }

    fn subject(&self, ticket: &str) -> Result<LoginSubject, NoTicket> {
        self.tickets.subject(ticket, self.now)
    }

    fn show(&mut self, ticket: &str, form: &str, browser: &str) -> Result<(), NoTicket> {
        let (form, browser) = (form.to_owned(), browser.to_owned());
        let page = ShownPage { form, browser, asked: AskedFor::default() };
        self.tickets.show(ticket, page, self.now)
    }

    fn consent(&mut self, it: &str, form: &str, browser: Option<&str>) -> Result<(), NoConsent> {
        self.tickets.consent(it, form, browser, self.now).map(drop)
    }

    fn decline(&mut self, it: &str, form: &str, browser: Option<&str>) -> Result<(), NoConsent> {
        self.tickets.decline(it, form, browser, self.now).map(drop)
    }

    fn under_way(&self, ticket: &str, browser: &str) -> Option<LoginSubject> {
        self.tickets.under_way(&TicketId::of(ticket), browser, self.now)
    }
}

fn subject(principal: &str) -> LoginSubject {
    let caller = Caller::new(Principal::new(principal), "");
    LoginSubject { caller, server: "issues".into(), client: "agent".to_owned() }
}
